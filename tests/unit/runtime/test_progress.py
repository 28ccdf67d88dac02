"""What is made of Spark's reports."""

from __future__ import annotations

from millstream.runtime.progress import least_offsets


def test_a_topic_that_is_read_twice_is_as_far_as_the_slower_reader() -> None:
    sources = [{"endOffset": {"a": {"0": 5, "1": 2}}}, {"endOffset": {"a": {"0": 3}, "b": {"0": 9}}}]
    assert least_offsets({"sources": sources}) == {("a", 0): 3, ("a", 1): 2, ("b", 0): 9}


def test_other_sources_have_other_offsets() -> None:
    assert least_offsets({"sources": [{"endOffset": None}, {"endOffset": 7}, {"endOffset": {"logOffset": 1}}]}) == {}
