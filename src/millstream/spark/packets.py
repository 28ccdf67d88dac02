"""Packets: the rows of one bucket as Arrow bytes, so that a shuffle moves a few large rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from millstream.kernels.operator import Parts

PACKET_SCHEMA: Final = "bucket INT, part STRING, payload BINARY"
TICK: Final = "__tick"
"""The part of a packet that says nothing but that time has passed."""
END: Final = b"end"
"""The content of a tick after which no row comes."""
_LARGEST_BYTES: Final = 16 << 20
_STEP_BYTES: Final = 32 << 20
"""Of a bucket's packets that a kernel takes at a time: what it makes of them needs several times as much memory."""
_ARROW_SCHEMA: Final = pa.schema([("bucket", pa.int32()), ("part", pa.string()), ("payload", pa.binary())])


def pack(parts: Parts, buckets: int) -> pa.RecordBatch:
    """Splits each part by `__hash mod buckets`."""
    rows = [
        (bucket, name, payload)
        for name, table in parts.items()
        if table.num_rows
        for bucket, piece in _split_by_bucket(table, buckets)
        for payload in to_payloads(piece)
    ]
    return _packets(rows)


def pack_for_all(part: str, table: pa.Table, buckets: int) -> pa.RecordBatch:
    """The same rows for every bucket; a packet also if there are none."""
    payloads = list(to_payloads(table)) or [_to_payload(table)]
    return _packets([(bucket, part, payload) for payload in payloads for bucket in range(buckets)])


def exchange(tasks: int, packets: DataFrame) -> DataFrame:
    """Sends each packet to the task of its bucket, evenly: a hash of so few numbers would leave tasks without any."""
    return packets.repartitionById(tasks, F.col("bucket") % tasks)


def post(batches: Iterable[pa.RecordBatch], bucket: int) -> Iterator[pa.RecordBatch]:
    """Packs rows that no kernel needs into packets that keep their order."""
    for batch in batches:
        yield _packets([(bucket, "", payload) for payload in to_payloads(pa.Table.from_batches([batch]))])


def unpack_posted(packets: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in packets:
        for payload in batch.column("payload"):
            yield from unpack(payload.as_buffer()).to_batches()


def _packets(rows: Sequence[tuple[int, str, bytes]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, _ARROW_SCHEMA, strict=True)],
        schema=_ARROW_SCHEMA,
    )


def unpack(payload: bytes | pa.Buffer) -> pa.Table:
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_all()


def unpack_by_part(packets: Iterable[tuple[str, bytes | pa.Buffer]]) -> dict[str, pa.Table]:
    """Packets of one bucket, those of the same part put together."""
    parts: dict[str, list[pa.Table]] = {}
    for part, payload in packets:
        parts.setdefault(part, []).append(unpack(payload))
    return {part: pa.concat_tables(tables) for part, tables in parts.items()}


def unpack_in_steps(packets: Sequence[tuple[str, bytes | pa.Buffer]], buckets: int) -> Iterator[Parts]:
    """The same, in several steps if there are many: rows with the same hash are in the same one."""
    steps = max(-(-sum(len(payload) for _, payload in packets) // _STEP_BYTES), 1)
    if steps == 1:
        yield unpack_by_part(packets)
        return
    for step in range(steps):
        parts: dict[str, list[pa.Table]] = {}
        for part, payload in packets:
            rows = unpack(payload)
            is_here = rows.column(HASH).to_numpy() // buckets % steps == step
            if is_here.any():
                parts.setdefault(part, []).append(rows.filter(pa.array(is_here)))
        if parts:
            yield {part: pa.concat_tables(tables) for part, tables in parts.items()}


def _split_by_bucket(table: pa.Table, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    owner = (table.column(HASH).to_numpy() % buckets).astype(
        np.min_scalar_type(buckets - 1)
    )  # small ones are sorted faster
    ordered = table.take(pa.array(np.argsort(owner, kind="stable")))
    counts = np.bincount(owner, minlength=buckets)
    ends = np.cumsum(counts)
    for bucket in np.flatnonzero(counts).tolist():
        yield bucket, ordered.slice(ends[bucket] - counts[bucket], counts[bucket])


def to_payloads(table: pa.Table) -> Iterator[bytes]:
    """The rows in order, in packets small enough for the JVM to hold several of them."""
    if table.num_rows == 0:
        return
    size = -(-table.num_rows // -(-table.nbytes // _LARGEST_BYTES))
    for start in range(0, table.num_rows, size):
        yield _to_payload(table.slice(start, size))


def _to_payload(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data
