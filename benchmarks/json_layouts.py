"""How fast JSON is read by layout and by Arrow's parser, in one process: `python -m benchmarks json_layouts`.

Memory is kept as in a worker. Rounds alternate, and the best of each counts.
"""

from __future__ import annotations

import json
import random
from time import perf_counter
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

import pyarrow as pa

from millstream.formats.json_by_layout import JsonLayoutReader
from millstream.formats.json_lines import JsonLinesReader
from millstream.formats.json_options import JsonOptions
from millstream.spark.worker_daemon import keep_freed_memory
from millstream.sql.types import BIGINT, STRING, DataType, Field, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

_MESSAGES: Final = 65_536
"""As many as a worker decodes at a time."""
_ROUNDS: Final = 7
_ORDER: Final = (Field("id", BIGINT), Field("customer", BIGINT), Field("amount", BIGINT))
_ROW: Final = DataType(TypeRoot.ROW, fields=_ORDER)
_CHANGE: Final = (("before", _ROW), ("after", _ROW), ("op", STRING))


def _page_view(number: int) -> str:
    region = f"region_{random.randrange(9)}"
    view = {"user_id": number, "page_id": number % 977, "viewtime": "2024-01-02 03:04:05.678", "user_region": region}
    return json.dumps(view, separators=(",", ":"))


def _change(number: int) -> str:
    order = {"id": number, "customer": number % 5000, "amount": random.randrange(10_000)}
    kind = random.choice("ccud")
    change = {"before": None if kind == "c" else order, "after": None if kind == "d" else order, "op": kind}
    return json.dumps(change | {"ts_ms": 1_700_000_000_000 + number}, separators=(",", ":"))


def _with_escapes(number: int) -> str:
    return json.dumps({"user_id": number, "user_region": f'region "{number % 9}"' if number % 10 else "region_0"})


_CASES: Final[dict[str, tuple[Callable[[int], str], tuple[tuple[str, DataType], ...]]]] = {
    "one column of four": (_page_view, (("user_region", STRING),)),
    "two columns of four": (_page_view, (("user_region", STRING), ("user_id", BIGINT))),
    "change events": (_change, _CHANGE),
    "messages without layouts": (_with_escapes, (("user_region", STRING), ("user_id", BIGINT))),
}


def _measure(reader: JsonLinesReader, messages: pa.Array) -> float:
    begin = perf_counter()
    reader.read(messages)
    return (perf_counter() - begin) / _MESSAGES * 1e9


def main() -> None:
    keep_freed_memory()
    pa.set_cpu_count(1)
    random.seed(7)
    print(f"{_MESSAGES:,} messages, nanoseconds for each, best of {_ROUNDS} rounds")
    for name, (write, columns) in _CASES.items():
        messages = pa.array([write(number).encode() for number in range(_MESSAGES)], pa.binary())
        by_layout, by_parser = (JsonLinesReader(columns, JsonOptions()) for _ in range(2))
        best = [float("inf")] * 2
        for _ in range(_ROUNDS):
            best[0] = min(best[0], _measure(by_layout, messages))
            with patch.object(JsonLayoutReader, "read", return_value=None):
                best[1] = min(best[1], _measure(by_parser, messages))
        print(f"{name:<26} by layout {best[0]:4.0f}, by the parser {best[1]:4.0f}, ratio {best[1] / best[0]:.2f}")


if __name__ == "__main__":
    main()
