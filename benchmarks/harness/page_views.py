"""Page views: the rows that most benchmarks read."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from millstream.sql.types import BIGINT, STRING, DataType, TypeRoot

COLUMNS: Final = (
    ("user_id", BIGINT),
    ("page_id", BIGINT),
    ("viewtime", DataType(TypeRoot.TIMESTAMP, precision=3)),
    ("user_region", STRING),
)
USERS: Final = 2_000_000


def page_views(rows: int, seed: int = 7, users: int = USERS) -> pa.Table:
    random = np.random.default_rng(seed)
    start = 1_704_164_645_000_000
    return pa.table(
        {
            "user_id": pa.array(random.integers(0, users, rows)),
            "page_id": pa.array(random.integers(1_000_000, 9_000_000, rows)),
            "viewtime": pa.array(start + np.arange(rows) * 1000).cast(pa.timestamp("us")),
            "user_region": pa.array([f"region_{i}" for i in random.integers(1, 10, rows)]),
        }
    )
