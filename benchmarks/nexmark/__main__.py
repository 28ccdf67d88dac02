"""`make nexmark`: runs Nexmark's queries on Flink and Millstream over the same topic, and compares what they write."""

from benchmarks.comparison.command import run_suite
from benchmarks.nexmark.suite import NEXMARK

if __name__ == "__main__":
    run_suite(NEXMARK, "benchmarks.nexmark", "queries", "events")
