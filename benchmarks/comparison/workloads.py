"""The workloads of the comparison, in the order of the page."""

from __future__ import annotations

from typing import Final

import polars as pl

from benchmarks.comparison.workload import INPUT, Arrival, Sink, Workload
from benchmarks.harness.datasets import DEBEZIUM, DELETE, FEW_PAIRS, MANY_PAIRS, MANY_USERS, UPSERTS

PYSPARK: Final = "pyspark"
PATHWAY: Final = "pathway"
_MILLION: Final = 1_000_000
_EACH_ROW: Final = pl.lit(1, pl.Int64)
_NO_UPDATES: Final = "Structured Streaming chains two stateful operators in append mode only"
_NO_DISTINCT: Final = "Structured Streaming has no exact COUNT(DISTINCT) over a stream"
_NO_UPSERTS: Final = "Pathway's Kafka connector does not read upserts"
_NO_AVRO: Final = "Pathway's Kafka connector writes json, plaintext, raw and dsv"
_VIEWS: Final = (
    ("user_id", "BIGINT"),
    ("page_id", "BIGINT"),
    ("viewtime", "TIMESTAMP(3)"),
    ("user_region", "STRING"),
)
_PAIRS_SINK: Final = Sink((("user_region", "STRING"), ("pv", "BIGINT"), ("uv", "BIGINT")), ("user_region",))
_PAIRS_QUERY: Final = (
    f"SELECT user_region, COUNT(*) AS pv, COUNT(DISTINCT user_id) AS uv FROM {INPUT} GROUP BY user_region"
)
_ORDERS_SINK: Final = Sink((("customer", "BIGINT"), ("orders", "BIGINT"), ("total", "BIGINT")), ("customer",))
_ORDERS_QUERY: Final = f"SELECT customer, COUNT(*) AS orders, SUM(amount) AS total FROM {INPUT} GROUP BY customer"


def _all_views(views: pl.DataFrame) -> pl.DataFrame:
    return views


def _even_pages(views: pl.DataFrame) -> pl.DataFrame:
    kept = views.filter(pl.col("page_id") % 2 == 0)
    return kept.select("page_id", (pl.col("user_id") * 10).alias("user_id"), pl.col("user_region").str.to_uppercase())


def _sums_by(key: str, views: pl.DataFrame) -> pl.DataFrame:
    return views.group_by(key).agg(pl.len().cast(pl.Int64).alias("pv"), pl.col("page_id").sum().alias("pages"))


def _pairs(views: pl.DataFrame) -> pl.DataFrame:
    counts = pl.len().cast(pl.Int64).alias("pv"), pl.col("user_id").n_unique().cast(pl.Int64).alias("uv")
    return views.group_by("user_region").agg(*counts)


def _totals_of_orders(changes: pl.DataFrame) -> pl.DataFrame:
    """Replays the changes: the last one of each order counts, unless it is a deletion."""
    orders = changes.unique("id", keep="last", maintain_order=True).filter(pl.col("op") != DELETE)
    counts = pl.len().cast(pl.Int64).alias("orders"), pl.col("amount").sum().alias("total")
    return orders.group_by("customer").agg(*counts)


def _users_by_views(views: pl.DataFrame) -> pl.DataFrame:
    counted = views.group_by("user_id").agg(pl.len().cast(pl.Int64).alias("seen"))
    return counted.group_by("seen").agg(pl.len().cast(pl.Int64).alias("users"))


WORKLOADS: Final = (
    Workload(
        "pass_json",
        "pass-through, JSON to JSON",
        MANY_USERS,
        9 * _MILLION,
        Sink(_VIEWS),
        f"SELECT * FROM {INPUT}",
        _all_views,
        _EACH_ROW,
        Arrival("page_id"),
        has_state=False,
    ),
    Workload(
        "pass_avro",
        "pass-through, JSON to Avro",
        MANY_USERS,
        9 * _MILLION,
        Sink(_VIEWS, format="avro"),
        f"SELECT * FROM {INPUT}",
        _all_views,
        _EACH_ROW,
        has_state=False,
        cannot={PATHWAY: _NO_AVRO},
    ),
    Workload(
        "filter_project",
        "filter and project",
        MANY_USERS,
        9 * _MILLION,
        Sink((("page_id", "BIGINT"), ("user_id", "BIGINT"), ("user_region", "STRING"))),
        f"SELECT page_id, user_id * 10 AS user_id, UPPER(user_region) AS user_region FROM {INPUT} "
        "WHERE MOD(page_id, 2) = 0",
        _even_pages,
        _EACH_ROW,
        Arrival("page_id"),
        has_state=False,
    ),
    Workload(
        "sum_9",
        "COUNT and SUM per 9 keys",
        MANY_USERS,
        9 * _MILLION,
        Sink((("user_region", "STRING"), ("pv", "BIGINT"), ("pages", "BIGINT")), ("user_region",)),
        f"SELECT user_region, COUNT(*) AS pv, SUM(page_id) AS pages FROM {INPUT} GROUP BY user_region",
        lambda views: _sums_by("user_region", views),
        pl.col("pv"),
        Arrival("pv", "user_region"),
    ),
    Workload(
        "sum_1m",
        "COUNT and SUM per 1 M keys",
        MANY_USERS,
        9 * _MILLION,
        Sink((("user_id", "BIGINT"), ("pv", "BIGINT"), ("pages", "BIGINT")), ("user_id",)),
        f"SELECT user_id, COUNT(*) AS pv, SUM(page_id) AS pages FROM {INPUT} GROUP BY user_id",
        lambda views: _sums_by("user_id", views),
        pl.col("pv"),
        Arrival("pv", "user_id"),
    ),
    Workload(
        "nested",
        "aggregate over aggregate",
        MANY_USERS,
        9 * _MILLION,
        Sink((("seen", "BIGINT"), ("users", "BIGINT")), ("seen",)),
        f"SELECT seen, COUNT(*) AS users FROM (SELECT user_id, COUNT(*) AS seen FROM {INPUT} GROUP BY user_id) "
        "AS per_user GROUP BY seen",
        _users_by_views,
        pl.col("seen") * pl.col("users"),
        cannot={PYSPARK: _NO_UPDATES},
    ),
    Workload(
        "pv_uv_2m",
        "PV/UV, 2 M pairs",
        FEW_PAIRS,
        9 * _MILLION,
        _PAIRS_SINK,
        _PAIRS_QUERY,
        _pairs,
        pl.col("pv"),
        Arrival("pv", "user_region"),
        cannot={PYSPARK: _NO_DISTINCT},
    ),
    Workload(
        "pv_uv_18m",
        "PV/UV, 18 M pairs",
        MANY_PAIRS,
        18 * _MILLION,
        _PAIRS_SINK,
        _PAIRS_QUERY,
        _pairs,
        pl.col("pv"),
        cannot={PYSPARK: _NO_DISTINCT},
    ),
    Workload(
        "debezium",
        "aggregate over debezium-json",
        DEBEZIUM,
        9 * _MILLION,
        _ORDERS_SINK,
        _ORDERS_QUERY,
        _totals_of_orders,
        pl.col("orders"),
    ),
    Workload(
        "upserts",
        "upserts to aggregate to upserts",
        UPSERTS,
        9 * _MILLION,
        _ORDERS_SINK,
        _ORDERS_QUERY,
        _totals_of_orders,
        pl.col("orders"),
        cannot={PYSPARK: _NO_UPDATES, PATHWAY: _NO_UPSERTS},
    ),
)
BY_NAME: Final = {workload.name: workload for workload in WORKLOADS}
