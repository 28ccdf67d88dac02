"""The tables of TPC-H that its queries 3, 5 and 10 read, with the keys and distributions of its definition.

The columns of a row follow from its key and its version, so that a change knows the row before and after it without
keeping any. Suppliers are drawn without parts; names, addresses and comments are shorter than in the definition.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

ORDERS_PER_CUSTOMER: Final = 10
ORDERS_PER_SUPPLIER: Final = 150
MOST_LINES: Final = 7
SEGMENTS: Final = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES: Final = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
REGIONS: Final = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS: Final = (
    *(("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3)),
    *(("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4)),
    *(("KENYA", 0), ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3)),
    *(("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1)),
)
"""With the number of the region."""
_FIRST_DAY: Final = np.datetime64("1992-01-01")
_ORDER_DAYS: Final = 2406
"""Up to 2 August 1998."""
_LAST_RETURN: Final = np.datetime64("1995-06-17")


def orders(numbers: np.ndarray, version: int, customers: int) -> pl.DataFrame:
    """Orders by their number, counted from 0."""
    priority = _draw(numbers, version, 3, len(PRIORITIES))
    return pl.DataFrame(
        {
            "o_orderkey": order_keys(numbers),
            "o_custkey": _customers_with_orders(numbers, customers),
            "o_orderstatus": pl.Series(["FO"[version > 0]] * len(numbers), dtype=pl.String),
            "o_totalprice": cents(_draw(numbers, version, 4, 50_000_000) + 90_000),
            "o_orderdate": _order_dates(numbers, version),
            "o_orderpriority": pl.Series(PRIORITIES).gather(priority),
            "o_shippriority": np.zeros(len(numbers), np.int64),
        }
    )


def line_items(numbers: np.ndarray, lines: np.ndarray, version: int, suppliers: int) -> pl.DataFrame:
    """Lines of orders, each by the number of its order and its own, counted from 0."""
    ids = numbers * MOST_LINES + lines
    quantity = _draw(ids, version, 11, 50) + 1
    shipped = _order_dates(numbers, 0) + _draw(ids, version, 12, 121) + 1
    received = shipped + _draw(ids, 0, 13, 30) + 1
    returned = np.where(_draw(ids, version, 14, 2) > 0, "R", "A")
    return pl.DataFrame(
        {
            "l_orderkey": order_keys(numbers),
            "l_linenumber": lines + 1,
            "l_suppkey": _draw(ids, 0, 15, suppliers) + 1,
            "l_quantity": quantity,
            "l_extendedprice": cents(quantity * (_draw(ids, 0, 16, 120_000) + 90_000)),
            "l_discount": cents(_draw(ids, version, 17, 11)),
            "l_returnflag": np.where(received <= _LAST_RETURN, returned, "N"),
            "l_shipdate": shipped,
        }
    )


def customers(numbers: np.ndarray, version: int) -> pl.DataFrame:
    nation = _draw(numbers, 0, 21, len(NATIONS))
    key = pl.Series(numbers + 1)
    phone = pl.select(
        pl.concat_str(pl.Series(nation + 10), pl.lit("-"), pl.Series(_draw(numbers, 0, 22, 9_000_000) + 1_000_000))
    ).to_series()
    return pl.DataFrame(
        {
            "c_custkey": key,
            "c_name": "Customer#" + key.cast(pl.String).str.zfill(9),
            "c_address": "address " + pl.Series(_draw(numbers, version, 23, 1_000_000)).cast(pl.String),
            "c_nationkey": nation,
            "c_phone": phone,
            "c_acctbal": cents(_draw(numbers, version, 24, 1_099_999) - 99_999),
            "c_mktsegment": pl.Series(SEGMENTS).gather(_draw(numbers, version, 25, len(SEGMENTS))),
            "c_comment": "comment " + pl.Series(_draw(numbers, 0, 26, 1_000_000)).cast(pl.String),
        }
    )


def suppliers(number: int) -> pl.DataFrame:
    numbers = np.arange(number)
    key = pl.Series(numbers + 1)
    return pl.DataFrame(
        {
            "s_suppkey": key,
            "s_name": "Supplier#" + key.cast(pl.String).str.zfill(9),
            "s_nationkey": _draw(numbers, 0, 31, len(NATIONS)),
        }
    )


def nations() -> pl.DataFrame:
    names, regions = zip(*NATIONS, strict=True)
    return pl.DataFrame({"n_nationkey": range(len(NATIONS)), "n_name": names, "n_regionkey": regions})


def regions() -> pl.DataFrame:
    return pl.DataFrame({"r_regionkey": range(len(REGIONS)), "r_name": REGIONS})


def count_lines(numbers: np.ndarray) -> np.ndarray:
    """Of each order: 1 to 7."""
    return _draw(numbers, 0, 1, MOST_LINES) + 1


def order_keys(numbers: np.ndarray) -> np.ndarray:
    """Eight of each 32 keys are used."""
    keys: np.ndarray = numbers // 8 * 32 + numbers % 8 + 1
    return keys


def is_chosen(numbers: np.ndarray, percent: int, purpose: int) -> np.ndarray:
    """Always the same, about so many of a hundred."""
    chosen: np.ndarray = _draw(numbers, 0, purpose, 100) < percent
    return chosen


def cents(amounts: np.ndarray) -> pl.Series:
    """As text with two digits after the point."""
    frame = pl.DataFrame({"amount": amounts})
    absolute = pl.col("amount").abs()
    sign = pl.when(pl.col("amount") < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    whole, rest = absolute // 100, (absolute % 100).cast(pl.String).str.zfill(2)
    return frame.select(pl.concat_str(sign, whole, pl.lit("."), rest)).to_series()


def _customers_with_orders(numbers: np.ndarray, customers: int) -> np.ndarray:
    """A third of the customers, those whose key can be divided by three, have no orders."""
    drawn = _draw(numbers, 0, 2, max(customers * 2 // 3, 1))
    keys: np.ndarray = drawn // 2 * 3 + drawn % 2 + 1
    return keys


def _order_dates(numbers: np.ndarray, version: int) -> np.ndarray:
    """A later version may be of another day of the same month or so."""
    days = _draw(numbers, 0, 5, _ORDER_DAYS - 30) + (_draw(numbers, version, 6, 30) if version else 0)
    return _FIRST_DAY + days


def _draw(numbers: np.ndarray, version: int, purpose: int, limit: int) -> np.ndarray:
    """From 0 to below the limit, by a mix of the number's bits with version and purpose."""
    mixed = numbers.astype(np.uint64) + np.uint64((version * 1_000_003 + purpose) * 0x9E3779B97F4A7C15 % (1 << 64))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(limit)).astype(np.int64)
