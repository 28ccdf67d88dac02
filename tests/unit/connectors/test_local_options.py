"""What the tables without a broker understand of their options, and what they refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.changelog import ALL_CHANGES, INSERT_ONLY
from millstream.connectors.local.file_formats import CsvFiles, JsonFiles
from millstream.connectors.local.paths import local_path
from millstream.connectors.local.tables import (
    DatagenSource,
    FilesystemSink,
    FilesystemSource,
    Generator,
    PrintSink,
)
from millstream.connectors.registry import resolve_sink, resolve_source
from millstream.errors import Code, ScriptError
from millstream.plan.program import compile_script
from millstream.runtime.before_start import refuse_unbuilt
from millstream.source import SourceText
from tests.declaring import declare_table

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.errors import Diagnostic

COLUMNS = """
  id BIGINT, tiny TINYINT, price DECIMAL(5, 2), `real` FLOAT, code CHAR(3), word VARCHAR(10), text STRING, `day` DATE,
  `at` TIMESTAMP(3), flag BOOLEAN, sure INT NOT NULL, buyer ROW<name STRING, age INT>, tags ARRAY<VARCHAR(4)>,
  scores MAP<STRING, DOUBLE>
"""


def datagen(**options: str) -> DatagenSource:
    """Keywords with `__` for `.` and `_` for `-`."""
    options_ = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    source = resolve_source(declare_table(COLUMNS, {"connector": "datagen", **options_}))
    assert isinstance(source, DatagenSource)
    return source


def generator(source: DatagenSource, path: str) -> Generator:
    first, *others = path.split(".")
    found = next(each for each in source.generators if each.path == first)
    for _ in others:
        found = next(part for part in found.parts if path.startswith(part.path))
    return found


def codes(columns: str, options: dict[str, str], partitioned_by: tuple[str, ...] = ()) -> list[Code]:
    """As a source; the problems in the order in which they are found."""
    with pytest.raises(ScriptError) as caught:
        resolve_source(declare_table(columns, options, partitioned_by))
    assert all(problem.span is not None for problem in caught.value.diagnostics)
    return [problem.code for problem in caught.value.diagnostics]


def test_a_generated_table_is_endless_and_random_unless_told() -> None:
    source = datagen()
    assert (source.is_bounded, source.rows_per_second, source.changelog) == (False, 10_000, INSERT_ONLY)
    assert generator(source, "id").bounds == (-(2**63), 2**63 - 1)
    assert generator(source, "tiny").bounds == (-128, 127)
    assert generator(source, "price").bounds == (0, 999.99)
    assert [generator(source, name).length for name in ("code", "word", "text", "tags")] == [3, 10, 100, 3]
    assert generator(source, "tags.element").length == 4
    assert generator(source, "buyer.age").bounds == (-(2**31), 2**31 - 1)


def test_a_generated_table_ends_with_what_ends_first() -> None:
    sequence = {"fields__id__kind": "sequence", "fields__id__start": "5", "fields__id__end": "14"}
    assert datagen(number_of_rows="3").number_of_rows == 3
    assert datagen(**sequence).number_of_rows == 10
    assert datagen(**sequence, number_of_rows="3").number_of_rows == 3
    assert datagen(**sequence, number_of_rows="30").number_of_rows == 10
    assert generator(datagen(**sequence), "id").sequence == (5, 14)


def test_options_reach_the_parts_of_a_column() -> None:
    source = datagen(
        fields__buyer__age__max="120",
        fields__buyer__age__min="18",
        fields__buyer__null_rate="0.25",
        fields__tags__length="0",
        fields__tags__element__var_len="true",
        fields__scores__value__max="1",
        fields__at__max_past="2 min",
    )
    assert generator(source, "buyer.age").bounds == (18, 120)
    assert generator(source, "buyer").null_rate == 0.25
    assert (generator(source, "tags").length, generator(source, "tags.element").varies_in_length) == (0, True)
    assert generator(source, "scores.value").bounds[1] == 1
    assert generator(source, "at").max_past_ms == 120_000


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"rows-per-second": "0"}, Code.INVALID_OPTION_VALUE),
        ({"rows-per-second": "many"}, Code.INVALID_OPTION_VALUE),
        ({"number-of-rows": "-1"}, Code.INVALID_OPTION_VALUE),
        ({"row-per-second": "1"}, Code.UNDEFINED_OPTION),
        ({"fields.nothing.min": "1"}, Code.UNDEFINED_COLUMN),
        ({"fields.id.least": "1"}, Code.UNDEFINED_OPTION),
        ({"fields.buyer.height.min": "1"}, Code.UNDEFINED_OPTION),
        ({"fields.buyer.age.kind": "sequence"}, Code.UNDEFINED_OPTION),
        ({"fields.id.kind": "rising"}, Code.INVALID_OPTION_VALUE),
        ({"fields.day.kind": "sequence"}, Code.CONFLICTING_OPTIONS),
        ({"fields.flag.kind": "sequence"}, Code.CONFLICTING_OPTIONS),
        ({"fields.buyer.kind": "sequence"}, Code.CONFLICTING_OPTIONS),
        ({"fields.id.kind": "sequence", "fields.id.start": "1"}, Code.MISSING_OPTION),
        (
            {"fields.id.kind": "sequence", "fields.id.start": "2", "fields.id.end": "1"},
            Code.INVALID_OPTION_VALUE,
        ),
        (
            {"fields.tiny.kind": "sequence", "fields.tiny.start": "1", "fields.tiny.end": "200"},
            Code.INVALID_OPTION_VALUE,
        ),
        (
            {"fields.price.kind": "sequence", "fields.price.start": "1", "fields.price.end": "1000"},
            Code.INVALID_OPTION_VALUE,
        ),
        ({"fields.id.start": "1"}, Code.CONFLICTING_OPTIONS),
        ({"fields.tiny.max": "128"}, Code.INVALID_OPTION_VALUE),
        ({"fields.id.min": "1.5"}, Code.INVALID_OPTION_VALUE),
        ({"fields.id.min": "2", "fields.id.max": "1"}, Code.INVALID_OPTION_VALUE),
        ({"fields.real.max": "-1"}, Code.INVALID_OPTION_VALUE),
        ({"fields.real.max": "1e39"}, Code.INVALID_OPTION_VALUE),
        ({"fields.real.max": "NaN"}, Code.INVALID_OPTION_VALUE),
        ({"fields.price.max": "1000"}, Code.INVALID_OPTION_VALUE),
        ({"fields.text.min": "1"}, Code.CONFLICTING_OPTIONS),
        ({"fields.code.length": "2"}, Code.CONFLICTING_OPTIONS),
        ({"fields.code.var-len": "true"}, Code.CONFLICTING_OPTIONS),
        ({"fields.word.length": "11"}, Code.INVALID_OPTION_VALUE),
        ({"fields.text.length": "0"}, Code.INVALID_OPTION_VALUE),
        ({"fields.id.length": "2"}, Code.CONFLICTING_OPTIONS),
        ({"fields.id.max-past": "1 s"}, Code.CONFLICTING_OPTIONS),
        ({"fields.at.max-past": "soon"}, Code.INVALID_OPTION_VALUE),
        ({"fields.id.null-rate": "1.1"}, Code.INVALID_OPTION_VALUE),
        ({"fields.sure.null-rate": "0.1"}, Code.CONFLICTING_OPTIONS),
    ],
)
def test_a_generated_table_refuses(options: dict[str, str], code: Code) -> None:
    assert codes(COLUMNS, {"connector": "datagen", **options}) == [code]


def test_all_problems_of_a_generated_table_are_told_at_once() -> None:
    options = {"rows-per-second": "x", "fields.id.min": "y", "fields.nothing.max": "1", "fields.day.max": "1"}
    assert len(codes(COLUMNS, {"connector": "datagen", **options})) == 4


def test_who_only_reads_and_who_only_writes() -> None:
    assert codes("id INT", {"connector": "print"}) == [Code.NOT_A_SOURCE]
    assert codes("id INT", {"connector": "blackhole"}) == [Code.NOT_A_SOURCE]
    with pytest.raises(ScriptError) as caught:
        resolve_sink(declare_table("id INT", {"connector": "datagen"}))
    assert caught.value.code is Code.NOT_A_SINK


def test_a_print_table_takes_all_changes_and_knows_its_prefix() -> None:
    plain = resolve_sink(declare_table("id INT", {"connector": "print"}))
    named = resolve_sink(
        declare_table(
            "id INT",
            {"connector": "print", "print-identifier": "x", "standard-error": "true", "sink.parallelism": "2"},
        )
    )
    assert isinstance(plain, PrintSink)
    assert isinstance(named, PrintSink)
    assert (plain.accepts, plain.prefix, plain.to_standard_error, plain.notices) == (ALL_CHANGES, "", False, ())
    assert (named.prefix, named.to_standard_error) == ("x> ", True)
    assert "'sink.parallelism'" in named.notices[0].text


def test_sinks_refuse_what_they_do_not_have() -> None:
    for options in ({"connector": "print", "identifier": "x"}, {"connector": "blackhole", "size": "1"}):
        with pytest.raises(ScriptError) as caught:
            resolve_sink(declare_table("id INT", options))
        assert caught.value.code is Code.UNDEFINED_OPTION


FILES = {"connector": "filesystem", "path": "data"}


def test_files_of_a_folder_are_bounded_unless_it_is_watched() -> None:
    bounded = resolve_source(declare_table("id INT", {**FILES, "format": "parquet"}))
    watched = resolve_source(declare_table("id INT", {**FILES, "format": "parquet", "source.monitor-interval": "10 s"}))
    assert isinstance(watched, FilesystemSource)
    assert (bounded.is_bounded, watched.is_bounded, watched.monitor_interval_ms) == (True, False, 10_000)


def test_formats_of_files_have_their_own_options() -> None:
    csv = {"format": "csv", "csv.field-delimiter": r"\t", "csv.disable-quote-character": "true"}
    tabs = resolve_source(declare_table("id INT", {**FILES, **csv}))
    lines = resolve_source(declare_table("id INT", {**FILES, "format": "json", "json.ignore-parse-errors": "true"}))
    assert isinstance(tabs, FilesystemSource)
    assert isinstance(lines, FilesystemSource)
    assert isinstance(tabs.format, CsvFiles)
    assert isinstance(lines.format, JsonFiles)
    assert (tabs.format.delimiter, tabs.format.quote) == ("\t", None)
    assert lines.format.ignore_parse_errors


@pytest.mark.parametrize(
    ("columns", "options", "partitioned_by", "code"),
    [
        ("id INT", {"connector": "filesystem", "format": "csv"}, (), Code.MISSING_OPTION),
        ("id INT", FILES, (), Code.MISSING_OPTION),
        ("id INT", {**FILES, "format": "orc"}, (), Code.UNDEFINED_FORMAT),
        ("id INT", {**FILES, "format": "csv", "csv.header": "true"}, (), Code.UNDEFINED_OPTION),
        ("id INT", {**FILES, "format": "csv", "json.ignore-parse-errors": "true"}, (), Code.UNDEFINED_OPTION),
        ("id INT", {**FILES, "format": "csv", "csv.field-delimiter": ";;"}, (), Code.INVALID_OPTION_VALUE),
        (
            "id INT",
            {**FILES, "format": "csv", "csv.quote-character": "x", "csv.disable-quote-character": "true"},
            (),
            Code.CONFLICTING_OPTIONS,
        ),
        ("id INT", {**FILES, "format": "csv", "source.monitor-interval": "1 x"}, (), Code.INVALID_OPTION_VALUE),
        ("ids ARRAY<INT>", {**FILES, "format": "csv"}, (), Code.UNSUPPORTED_TYPE),
        ("ids MAP<INT, INT>", {**FILES, "format": "json"}, (), Code.UNSUPPORTED_TYPE),
        ("id INT, `day` DATE", {**FILES, "format": "csv"}, ("week",), Code.UNDEFINED_COLUMN),
        ("id INT", {**FILES, "format": "csv"}, ("id",), Code.CONFLICTING_OPTIONS),
        ("id INT, ids ARRAY<INT>", {**FILES, "format": "json"}, ("ids",), Code.UNSUPPORTED_TYPE),
    ],
)
def test_files_refuse(columns: str, options: dict[str, str], partitioned_by: tuple[str, ...], code: Code) -> None:
    assert codes(columns, options, partitioned_by) == [code]


@pytest.mark.parametrize("key", ["csv.trim-spaces", "auto-compaction", "partition.default-name"])
def test_options_of_files_that_are_not_built_are_known_by_name(key: str) -> None:
    with pytest.raises(ScriptError, match=f"option '{key}' .* is not supported yet"):
        resolve_source(declare_table("id INT", {**FILES, "format": "csv", key: "true"}))


def test_what_has_no_effect_on_files_is_told() -> None:
    sink = resolve_sink(declare_table("id INT", {**FILES, "format": "csv", "sink.rolling-policy.file-size": "1 mb"}))
    assert isinstance(sink, FilesystemSink)
    assert sink.accepts == INSERT_ONLY
    assert "has no effect: each batch ends the files it writes" in sink.notices[0].text


def test_a_missing_path_is_known_before_a_job_starts(tmp_path: Path) -> None:
    def source(path: str) -> FilesystemSource:
        found = resolve_source(declare_table("id INT", {"connector": "filesystem", "path": path, "format": "csv"}))
        assert isinstance(found, FilesystemSource)
        return found

    def problem(path: str) -> Diagnostic | None:
        return next(iter(source(path).find_problems_here()), None)

    missing = problem(f"{tmp_path}/none")
    assert missing is not None
    assert f"{tmp_path}/none" in missing.primary
    assert problem(str(tmp_path)) is None
    assert problem(tmp_path.as_uri()) is None
    assert problem("s3a://bucket/none") is None


def test_older_dialect(tmp_path: Path) -> None:
    script = f"""CREATE TABLE t (id INT, name STRING) WITH (
      'connector.type' = 'filesystem',
      'connector.path' = '{tmp_path}/none',
      'format.type' = 'csv', 'format.field-delimiter' = ';'
    );
    SELECT * FROM t;"""
    program = compile_script(SourceText("s", script), {}, {})
    [table] = program.jobs[0].tables
    assert isinstance(table, FilesystemSource)
    assert (table.path, table.format.name) == (f"{tmp_path}/none", "csv")
    with pytest.raises(ScriptError) as caught:
        refuse_unbuilt(program)
    [missing] = caught.value.diagnostics
    assert missing.span is not None
    assert missing.span.line == 3


def test_a_sink_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, is_wrong in ((tmp_path / "file", True), (tmp_path, False), (tmp_path / "new", False)):
        sink = resolve_sink(declare_table("id INT", {"connector": "filesystem", "path": str(path), "format": "csv"}))
        assert isinstance(sink, FilesystemSink)
        assert bool(list(sink.find_problems_here())) == is_wrong


def test_paths_are_local_unless_another_scheme_says_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert local_path("a/b") == tmp_path / "a/b"
    assert local_path("/a/b%20c") == tmp_path.joinpath("/a/b%20c")
    assert local_path("file:///a/b%20c") == tmp_path.joinpath("/a/b c")
    assert local_path("hdfs://host/a") is None


@pytest.mark.parametrize("connector", ["datagen", "filesystem"])
def test_metadata_that_the_connector_has_not(connector: str) -> None:
    options = {"connector": connector, **({"path": "p", "format": "json"} if connector == "filesystem" else {})}
    with pytest.raises(ScriptError) as caught:
        resolve_source(declare_table("id INT, `at` TIMESTAMP(3) METADATA FROM 'timestamp'", options))
    assert [problem.code for problem in caught.value.diagnostics] == [Code.INVALID_METADATA]


@pytest.mark.parametrize(
    "options",
    [
        {"connector": "print"},
        {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "a:1", "format": "json"},
    ],
)
def test_only_files_are_partitioned(options: dict[str, str]) -> None:
    with pytest.raises(ScriptError) as caught:
        resolve_sink(declare_table("id INT, `day` DATE", options, ("day",)))
    [problem] = caught.value.diagnostics
    assert problem.code is Code.CONFLICTING_OPTIONS
    assert "PARTITIONED BY" in problem.primary


def test_option_that_a_column_has_not_is_answered_with_those_that_fit_it() -> None:
    with pytest.raises(ScriptError) as caught:
        resolve_source(declare_table("a INT", {"connector": "datagen", "zzz": "1", "fields.a.zzz": "1"}))
    of_column, of_table = (problem.detail or "" for problem in caught.value.diagnostics)
    assert "kind, start, end, min, max, null-rate" in of_column
    for key in ("kind", "min", "max", "null-rate"):
        assert f"fields.a.{key}" in of_table
