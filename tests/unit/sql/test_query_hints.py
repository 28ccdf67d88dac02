"""Hints after SELECT, as data, and what is said of those without effect."""

from __future__ import annotations

from millstream.source import SourceText
from millstream.sql.parser import ParsedScript, parse_script
from millstream.sql.script import expand
from millstream.sql.statements import Select


def parse(text: str) -> ParsedScript:
    parsed = parse_script(expand(SourceText("s", text), {}))
    assert parsed.problems == ()
    return parsed


def hints_in(text: str) -> list[tuple[str, list[str]]]:
    """Each with the offset of its SELECT written as the text there."""
    [select] = parse(text).statements
    assert isinstance(select, Select)
    return [
        (
            text[start : start + 6],
            [f"{hint.name}{[(each.key, each.value) for each in hint.options]}{hint.tables}" for hint in hints],
        )
        for start, hints in select.query.query_hints
    ]


def test_a_hint_belongs_to_the_select_it_follows() -> None:
    text = "SELECT * FROM (select /*+ state_ttl('t' = '1 d', 'u' = '0 s') */ * FROM t, u) UNION ALL SELECT 1"
    assert hints_in(text) == [("select", ["STATE_TTL[('t', '1 d'), ('u', '0 s')]()"])]
    [select] = parse(text).statements
    assert isinstance(select, Select)
    assert [start for start, _ in select.query.query_hints] == [text.index("select")]


def test_several_hints_and_several_tables_are_separated_by_commas() -> None:
    text = (
        "SELECT /*+ BROADCAST(t, 'u'), STATE_TTL('t' = '1 d'), Lookup('table' = 'u', 'async' = 'true') */ * FROM t, u"
    )
    [select] = parse(text).statements
    assert isinstance(select, Select)
    [(_, hints)] = select.query.query_hints
    assert [hint.name for hint in hints] == ["BROADCAST", "STATE_TTL", "LOOKUP"]
    assert [table.text for table in hints[0].tables] == ["t", "u"]


def test_a_hint_without_effect_is_named_once_per_script() -> None:
    parsed = parse(
        "SELECT /*+ BROADCAST(t) */ * FROM t, u;\nSELECT /*+ BROADCAST(u), NEST_LOOP(u) */ * FROM t, u;\n"
        "CREATE VIEW v AS SELECT /*+ LOOKUP('table' = 't') */ * FROM t;\n"
        "SELECT /*+ STATE_TTL('t' = '1 d') */ * FROM t, u"
    )
    said = [(warning.span and warning.span.line, warning.primary) for warning in parsed.warnings]
    assert said == [
        (1, "the hint BROADCAST has no effect: it chooses how joins run in batch mode"),
        (2, "the hint NEST_LOOP has no effect: it chooses how joins run in batch mode"),
        (3, "the hint LOOKUP has no effect: tables that are looked up are in memory"),
    ]
