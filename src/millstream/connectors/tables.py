"""What a table is to a query that reads or writes it, whatever connects it.

Every source has `table`, `changelog` (the kinds of change it gives) and `is_bounded`; every sink has `table`,
`accepts` (the kinds it takes) and `connector`.
"""

from __future__ import annotations

from millstream.connectors.kafka_tables import KafkaSink, KafkaSource
from millstream.connectors.local_tables import (
    BlackholeSink,
    DatagenSource,
    FilesystemSink,
    FilesystemSource,
    PrintSink,
)

LocalSource = DatagenSource | FilesystemSource
LocalSink = PrintSink | BlackholeSink | FilesystemSink
Source = KafkaSource | LocalSource
Sink = KafkaSink | LocalSink


def read_from(source: Source) -> str:
    """Where rows come from, in the words of a checkpoint: a job that reads elsewhere cannot go on from it."""
    match source:
        case KafkaSource():
            return ", ".join(source.topics)
        case DatagenSource():
            return "nowhere: rows are generated"
        case FilesystemSource():
            return source.path
