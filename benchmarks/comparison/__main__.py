"""`make bench`: runs workloads on several systems and writes docs/benchmarks.md."""

from benchmarks.comparison.command import run_suite
from benchmarks.comparison.suite import COMPARISON

if __name__ == "__main__":
    run_suite(COMPARISON, "benchmarks.comparison", "workloads", "rows")
