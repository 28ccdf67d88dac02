from __future__ import annotations

import pytest

from millstream.cli.topics import format_setting


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cleanup.policy", "compact,delete", "compact,delete"),
        ("retention.ms", "604800000", "604800000 (7 days)"),
        ("retention.ms", "86400000", "86400000 (1 day)"),
        ("retention.ms", "3600000", "3600000 (1 hour)"),
        ("retention.ms", "90000", "90000 (1 min 30 s)"),
        ("retention.ms", "-1", "-1 (no limit)"),
        ("retention.bytes", "1500000", "1500000 (1.5 MB)"),
    ],
)
def test_settings_say_what_their_numbers_mean(name: str, value: str, expected: str) -> None:
    assert format_setting(name, value) == expected
