"""What a table is to a query that reads or writes it, whatever connects it.

Every source has `table`, `changelog` (the kinds of change it gives) and `is_bounded`; every sink has `table`,
`accepts` (the kinds it takes) and `connector`.
"""

from __future__ import annotations

from millstream.connectors.kafka_tables import KafkaSink, KafkaSource

Source = KafkaSource
Sink = KafkaSink
