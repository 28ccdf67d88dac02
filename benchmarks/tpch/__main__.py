"""`make tpch`: runs queries of TPC-H on Flink and Millstream over the same changes, and compares what they write."""

from benchmarks.comparison.command import run_suite
from benchmarks.tpch.suite import TPCH

if __name__ == "__main__":
    run_suite(TPCH, "benchmarks.tpch", "queries", "changes")
