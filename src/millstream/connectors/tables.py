"""What a table is to a query that reads or writes it, whatever connects it.

Every source has `table`, `changelog` (the kinds of change it gives), `is_bounded`, `summary` for EXPLAIN, and `reads`,
what a checkpoint's positions belong to; every sink has `table`, `accepts` (the kinds it takes) and `connector`. Both
have `notices`, what the user is to be told.
"""

from __future__ import annotations

from millstream.connectors.kafka.tables import KafkaSink, KafkaSource
from millstream.connectors.local.tables import (
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
