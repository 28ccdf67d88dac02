"""Generates texts of values, from ordinary to invalid ones, and damages messages."""

from __future__ import annotations

from random import Random
from typing import Final

_PLAIN_NUMBERS: Final = (
    "0", "-0", "7", "-1", "127", "128", "-32769", "2147483647", "2147483648", "9223372036854775807",
    "9223372036854775808", "1.5", "12.50", "1.005", "999.995", "1e3", "1E-2", "3.4028236e38", "1e39", "1e400", "5e-324",
)  # fmt: skip
_ODD_NUMBERS: Final = (
    "+7", ".5", "5.", "01", "-", "1e", "1e+", "0x10", "1_000", "1.5f", "7d", "NaN", "-Infinity", "Infinity", "INF",
    "\u0663", "\uff17", "1,5", " 7 ", "--1", "1.2.3", "1e5.5",
)  # fmt: skip
_EXPONENTS: Final = (
    "9", "38", "39", "75", "76", "77", "100", "400", "99999", "1000000000", "2147483648", "999999999999999999",
    "9223372036854775808", "99999999999999999999",
)  # fmt: skip
_LENGTHS: Final = (30, 38, 39, 40, 78, 400, 4299, 4301, 20_000, 100_000)
_MOMENTS: Final = (
    "2024-02-29", "2023-02-29", "0001-01-01", "9999-12-31", "+294247-01-10", "-0001-01-01", "1582-10-10", "2024-1-2",
    "07:08:09", "07:08:09.123456789", "24:00:00", "25:00:00", "07:08", "2024-01-02 03:04:05", "2024-01-02T03:04:05",
    "2024-01-02 03:04:05.123Z", "2024-01-02T03:04:05Z", "294247-01-10 04:00:54.775807", "2024-01-02 24:00:00.000000001",
    "+999999999-12-31 00:00:00", "2024-01-02 03:04:05+01:00",
)  # fmt: skip
_BASE64: Final = ("", "AQI=", "AQ==", "AR==", "AQI", "A", "====", " AQI= ", "AQ==AQ==", "é", "\x00AQI=")
_WORDS: Final = (
    "", "a", "null", "true", "FALSE", "Ärger", "\U0001f600", "a,b", 'a"b', "a\nb", "\x00", "\ufeff", "\u2028", "a\\b",
    "\ud800", "\udc00x", "'", "#", ";", "\t",
)  # fmt: skip
_BAD_BYTES: Final = (
    b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\0", b"\xef\xbb\xbf", b"\xfe\xff",
    b"\r\n", b"\x80" * 9 + b"\x01", b"\xff" * 12,
)  # fmt: skip


_CALM: Final = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("0", "7", "-128"),
    "SMALLINT": ("0", "7", "-32768"),
    "INT": ("0", "-1", "2147483647"),
    "BIGINT": ("0", "-1", "9223372036854775807"),
    "FLOAT": ("0.5", "-1e3", "3.4e38"),
    "DOUBLE": ("0.1", "1e-300", "1.7e308"),
    "DECIMAL": ("0", "12.50", "-99.99", "1e1"),
    "DATE": ("2024-02-29", "1970-01-01"),
    "TIME": ("07:08:09", "23:59:59"),
    "TIMESTAMP": ("2024-01-02 03:04:05", "2024-01-02 03:04:05.123"),
    "TIMESTAMP_LTZ": ("2024-01-02 03:04:05Z", "2024-01-02 03:04:05.123Z"),
    "BYTES": ("AQI=", "AQ=="),
}


class Draw(Random):
    """`wildness` is how much of a message is odd: from nothing to anything that a writer could write."""

    wildness = 1.0

    def odd(self, chance: float) -> bool:
        return self.random() < chance * self.wildness


def number(rng: Draw) -> str:
    match rng.randrange(10):
        case 0 | 1 | 2 | 3:
            return rng.choice(_PLAIN_NUMBERS)
        case 4:
            return str(rng.randrange(-(10**6), 10**6))
        case 5:
            return f"{rng.choice(('1', '0', '-9.99', '0.000', '123456789.5'))}{_exponent(rng)}"
        case 6:
            return "0." + "0" * rng.choice(_LENGTHS) + rng.choice(("1", "", "5e3", _exponent(rng)))
        case 7:
            digits = rng.choice("1234567890") * rng.choice(_LENGTHS)
            return f"{rng.choice(('', '-', '1.'))}{digits}{rng.choice(('', '', '.5', 'x', 'e', _exponent(rng)))}"
        case _:
            return rng.choice(_ODD_NUMBERS)


def _exponent(rng: Draw) -> str:
    return f"{rng.choice('eE')}{rng.choice(('', '+', '-', '-'))}{rng.choice(_EXPONENTS)}"


def text(rng: Draw) -> str:
    """Any content of a string."""
    match rng.randrange(9):
        case 0 | 1:
            return rng.choice(_WORDS)
        case 2:
            return number(rng)
        case 3:
            return rng.choice(_MOMENTS)
        case 4:
            return rng.choice(_BASE64)
        case 5:
            return "".join(rng.choice(_WORDS) for _ in range(rng.randrange(6)))
        case 6:
            return rng.choice(("A", " ", "AQI=", "\\", '"', "é")) * rng.choice(_LENGTHS) + rng.choice(("", "x", "!"))
        case 7:
            return add_blanks(rng, rng.choice((*_PLAIN_NUMBERS, *_MOMENTS, *_BASE64, *_WORDS)))
        case _:
            return "".join(chr(rng.randrange(32, 127)) for _ in range(rng.randrange(12)))


def add_blanks(rng: Draw, content: str) -> str:
    """Adds a long run of spaces before, inside or after a text."""
    at = rng.choice((0, len(content) // 2, len(content)))
    return content[:at] + rng.choice((" ", "\t", "\n", "\x00", " \n")) * rng.choice(_LENGTHS) + content[at:]


def value_text(rng: Draw, root: str) -> str:
    """Usually a valid value of a column of this type."""
    if not rng.odd(1):
        return rng.choice(_CALM.get(root, ("a", "b c", "\U0001f600")))
    if rng.random() < 0.05:
        return add_blanks(rng, rng.choice(_CALM.get(root, ("a", "b c"))))
    if rng.random() < 0.25:
        return text(rng)
    match root:
        case "BOOLEAN":
            return rng.choice(("true", "false", "TRUE", " true ", "1"))
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT" | "FLOAT" | "DOUBLE" | "DECIMAL":
            return number(rng)
        case "DATE" | "TIME" | "TIMESTAMP" | "TIMESTAMP_LTZ":
            return rng.choice(_MOMENTS)
        case "BYTES" | "BINARY" | "VARBINARY":
            return rng.choice(_BASE64)
        case _:
            return text(rng)


def damage(rng: Draw, message: bytes) -> bytes:
    """Returns most messages unchanged."""
    for _ in range(rng.choice((1, 1, 1, 3)) if rng.odd(0.4) else 0):
        at = rng.randrange(len(message) + 1)
        to = min(len(message), at + rng.randrange(1, 9))
        match rng.randrange(8):
            case 0:
                message = message[:at]
            case 1:
                message = message[:at] + rng.choice(_BAD_BYTES) + message[at:]
            case 2:
                message = message[:at] + rng.randbytes(to - at) + message[to:]
            case 3:
                message = message[:at] + message[to:]
            case 4:
                message = message[:at] + message[at:to] * rng.choice((2, 50)) + message[to:]
            case 5:
                message = rng.choice((b"\xef\xbb\xbf", b" \n\t", b"\xff\xfe", b"\0")) + message
            case 6:
                message = message.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-16-le", "utf-32-be")))
            case _:
                message += rng.choice((b"\n", b"}", b"]", b"x", b"\0", message))
    return message
