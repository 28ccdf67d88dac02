"""Decides which start of which job writes under a prefix: the one with the newest claim.

A claim is an offset of group `prefix-claim` for the table's progress topic. Jobs that share a prefix need not share a
topic, so the claims of all topics count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.delivery.committed import group, offsets_of_group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.delivery.request import Transactions


def newest_claim(properties: Mapping[str, str], transactions: Transactions) -> str | None:
    """The metadata of the claim. Of two claims made at the same moment, all readers choose the same."""
    return _newest(properties, transactions)[1]


def claim(properties: Mapping[str, str], transactions: Transactions) -> None:
    number, _ = _newest(properties, transactions)
    with group(properties, transactions.claim_group, transactions.progress_topic) as claims:
        claims.write(number + 1, transactions.claim)


def _newest(properties: Mapping[str, str], transactions: Transactions) -> tuple[int, str | None]:
    found = offsets_of_group(properties, transactions.claim_group, transactions.progress_topic)
    return max(((entry.offset, entry.metadata or "") for entry in found), default=(0, None))
