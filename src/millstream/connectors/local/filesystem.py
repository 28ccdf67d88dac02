"""`connector` = `filesystem`: a folder of files, or one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.catalog.options import ConfigOption, Role, text
from millstream.connectors.declaration import ConnectorDeclaration
from millstream.connectors.local.file_formats import FileFormat, read_file_format
from millstream.connectors.local.options import duration_ms, finish, without_effect
from millstream.connectors.local.paths import PATH
from millstream.connectors.local.tables import FilesystemSink, FilesystemSource
from millstream.connectors.lookup_options import IN_MEMORY, LOOKUP_OPTIONS, PARTIAL_OPTIONS, read_lookup_settings
from millstream.errors import Code, Diagnostic
from millstream.sql.types import NESTED

if TYPE_CHECKING:
    from millstream.catalog.option_reader import OptionReader

IDENTIFIER: Final = "filesystem"
METADATA: Final = {
    "file.path": "file_path",
    "file.name": "file_name",
    "file.size": "file_size",
    "file.modification-time": "file_modification_time",
}
"""The metadata of the file that a row comes from, with Spark's names."""

FORMAT: Final = ConfigOption("format", str, "The format of the files: csv, json or parquet.", legacy=("format.type",))
MONITOR_INTERVAL: Final = ConfigOption(
    "source.monitor-interval",
    duration_ms,
    "How often to look for new files; with it the source never ends.",
    role=Role.SOURCE,
)

_BATCH_ENDS_FILE: Final = "each batch ends the files it writes"
_FILES_SEEN_AT_ONCE: Final = "the files of a batch can be read as soon as it ends"
_WITHOUT_EFFECT: Final = {
    ConfigOption(key, text, doc, role=Role.SINK): why
    for key, doc, why in (
        ("sink.rolling-policy.file-size", "How large a file may get.", _BATCH_ENDS_FILE),
        ("sink.rolling-policy.rollover-interval", "How long a file is written.", _BATCH_ENDS_FILE),
        ("sink.rolling-policy.inactivity-interval", "How long a file may rest.", _BATCH_ENDS_FILE),
        ("sink.rolling-policy.check-interval", "How often files are looked at.", _BATCH_ENDS_FILE),
        ("sink.partition-commit.trigger", "When a partition is complete.", _FILES_SEEN_AT_ONCE),
        ("sink.partition-commit.delay", "How long a partition waits.", _FILES_SEEN_AT_ONCE),
        ("sink.partition-commit.watermark-time-zone", "The zone of partition times.", _FILES_SEEN_AT_ONCE),
        ("sink.parallelism", "Tasks that write.", "'parallelism.default' is that of the whole job"),
        ("source.report-statistics", "Statistics for the planner.", "plans do not depend on statistics"),
    )
}
DECLARATION: Final = ConnectorDeclaration(
    IDENTIFIER,
    "The files of a folder, or one file: read to their end, or written in parts, one or more for each batch.",
    (PATH, FORMAT, MONITOR_INTERVAL, *LOOKUP_OPTIONS, *_WITHOUT_EFFECT),
    gives="inserts",
    takes="inserts",
    is_lookup_table=True,
    has_partitions=True,
    without_effect=(
        *((option.key, IN_MEMORY) for option in PARTIAL_OPTIONS),
        *((option.key, why) for option, why in _WITHOUT_EFFECT.items()),
    ),
)
_RECOGNISED: Final = (
    "partition.default-name", "source.path.regex-pattern", "sink.shuffle-by-partition.enable",
    "partition.time-extractor.kind", "partition.time-extractor.class",
    "partition.time-extractor.timestamp-formatter", "partition.time-extractor.timestamp-pattern",
    "sink.partition-commit.policy.kind", "sink.partition-commit.policy.class",
    "sink.partition-commit.policy.class.parameters", "sink.partition-commit.success-file.name",
    "auto-compaction", "compaction.file-size", "compaction.parallelism",
)  # fmt: skip


def resolve_source(reader: OptionReader) -> FilesystemSource:
    path, format_ = _read_shared_options(reader)
    interval = reader.get(MONITOR_INTERVAL)
    lookup = read_lookup_settings(reader)
    notices = finish(reader, IDENTIFIER, METADATA)
    assert path is not None
    assert format_ is not None
    return FilesystemSource(reader.table, path, format_, interval, lookup, notices, places=reader.places)


def resolve_sink(reader: OptionReader) -> FilesystemSink:
    path, format_ = _read_shared_options(reader)
    reader.read((MONITOR_INTERVAL, *LOOKUP_OPTIONS))
    notices = finish(reader, IDENTIFIER)
    assert path is not None
    assert format_ is not None
    return FilesystemSink(reader.table, path, format_, notices, places=reader.places)


def _read_shared_options(reader: OptionReader) -> tuple[str | None, FileFormat | None]:
    path = reader.require(PATH)
    format_ = read_file_format(reader, FORMAT)
    without_effect(reader, _WITHOUT_EFFECT)
    reader.recognise(_RECOGNISED)
    _check_partitions(reader)
    return path, format_


def _check_partitions(reader: OptionReader) -> None:
    """Columns of PARTITIONED BY become names of folders."""
    physical = {column.name: column for column in reader.table.physical_columns}
    for name in reader.table.partitioned_by:
        if name not in physical:
            reader.problems.append(
                Diagnostic(
                    Code.UNDEFINED_COLUMN,
                    f'table "{reader.table.name}" is partitioned by "{name}", which is not one of its columns',
                    reader.table.span,
                )
            )
        elif physical[name].type.root in NESTED:
            reader.problems.append(
                Diagnostic(
                    Code.UNSUPPORTED_TYPE,
                    f'column "{name}" of type {physical[name].type} cannot name a folder of a partition',
                    physical[name].span,
                )
            )
    if physical and set(reader.table.partitioned_by) >= set(physical):
        reader.problems.append(
            Diagnostic(
                Code.CONFLICTING_OPTIONS,
                f'table "{reader.table.name}" is partitioned by all of its columns, so its files would hold none',
                reader.table.span,
            )
        )
