"""One value of each SQL type and what each format makes of it.

Where no recording of Flink has a value, the bytes follow from its sources at release 2.2.0: RowDataToJsonConverters,
RowDataToCsvConverters, RowDataToAvroConverters with AvroSchemaConverter, RawFormatSerializationSchema, and Avro's
JsonEncoder. `csv` is with the
NULL literal `~`; `avro` and `raw` are hexadecimal; avro's first byte is the branch of the union with NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Written:
    type: str
    value: Any
    json: str
    csv: str | None = None
    """None where the format refuses the type."""
    avro: str | None = None
    avro_json: str | None = None
    raw: str | None = None
    read: tuple[tuple[str, Any], ...] = ()
    """What some formats make of their own bytes, where it is another value."""

    def __str__(self) -> str:
        return f"{self.type} {self.value}"[:60]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


_WHOLE_SECONDS: Final = (("json", 25_689_000), ("csv", 25_689_000))
_MILLIS: Final = (("avro", moment("2024-05-06 07:08:09.123")),)
RECORD: Final = "org.apache.flink.avro.generated.record_v"

NUMBERS: Final = (
    Written("BOOLEAN", True, "true", "true", "0201", '{"boolean":true}', "01"),
    Written("BOOLEAN", False, "false", "false", "0200", '{"boolean":false}', "00"),
    Written("TINYINT", -128, "-128", "-128", "02ff01", '{"int":-128}', "80"),
    Written("SMALLINT", 32767, "32767", "32767", "02feff03", '{"int":32767}', "7fff"),
    Written("INT", -2147483648, "-2147483648", "-2147483648", "02ffffffff0f", '{"int":-2147483648}', "80000000"),
    Written("INT NOT NULL", 7, "7", "7", "0e", "7", "00000007"),
    Written(
        "BIGINT", 9223372036854775807, "9223372036854775807", "9223372036854775807", "02feffffffffffffffff01",
        '{"long":9223372036854775807}', "7fffffffffffffff",
    ),
    Written("FLOAT", 1.5, "1.5", "1.5", "020000c03f", '{"float":1.5}', "3fc00000"),
    Written(
        "FLOAT", 3.4028234663852886e38, "3.4028235E38", "3.4028235E38", "02ffff7f7f", '{"float":3.4028235E38}',
        "7f7fffff",
    ),
    Written("FLOAT", 1e10, "1.0E10", "1.0E10", "02f9021550", '{"float":1.0E10}', "501502f9"),
    Written("DOUBLE", 0.1, "0.1", "0.1", "029a9999999999b93f", '{"double":0.1}', "3fb999999999999a"),
    Written("DOUBLE", 1e-3, "0.001", "0.001", "02fca9f1d24d62503f", '{"double":0.001}', "3f50624dd2f1a9fc"),
    Written("DOUBLE", 9.999e-4, "9.999E-4", "9.999E-4", "02093f2773e261503f", '{"double":9.999E-4}', None),
    Written("DOUBLE", 1e7, "1.0E7", "1.0E7", "0200000000d0126341", '{"double":1.0E7}', "416312d000000000"),
    Written("DOUBLE", 5e-324, "4.9E-324", "4.9E-324", "020100000000000000", '{"double":4.9E-324}', "0000000000000001"),
    Written("DOUBLE", -0.0, "-0.0", "-0.0", "020000000000000080", '{"double":-0.0}', "8000000000000000"),
    Written(
        "DOUBLE", float("inf"), '"Infinity"', "Infinity", "02000000000000f07f", '{"double":"Infinity"}',
        "7ff0000000000000",
    ),
    Written("DECIMAL(10, 2)", Decimal("12.50"), "12.5", "12.50", "020404e2", '{"bytes":"\\u0004â"}'),
    Written("DECIMAL(10, 2)", Decimal("-1.28"), "-1.28", "-1.28", "020280", '{"bytes":"\x80"}'),
    Written("DECIMAL(10, 2)", Decimal("50.00"), "5E+1", "50.00", "02041388", '{"bytes":"\\u0013\x88"}'),
    Written("DECIMAL(10, 2)", Decimal("0.00"), "0", "0.00", "020200", '{"bytes":"\\u0000"}'),
    Written("DECIMAL(5, 0)", Decimal(100), "1E+2", "100", "020264", '{"bytes":"d"}'),
    Written(
        "DECIMAL(38, 18)", Decimal("0.000000027000000000"), "2.7E-8", "0.000000027000000000", "020a0649534e00",
        '{"bytes":"\\u0006ISN\\u0000"}',
    ),
)  # fmt: skip

TEXTS_AND_BYTES: Final = (
    Written("STRING", "", '""', "", "0200", '{"string":""}', ""),
    Written("STRING", "two words", '"two words"', '"two words"', "021274776f20776f726473", '{"string":"two words"}',
            "74776f20776f726473"),
    Written("STRING", "a-b_c", '"a-b_c"', "a-b_c", "020a612d625f63", '{"string":"a-b_c"}', "612d625f63"),
    Written("STRING", "a,b", '"a,b"', '"a,b"', "0206612c62", '{"string":"a,b"}', "612c62"),
    Written("STRING", 'q"', '"q\\""', '"q"""', "02047122", '{"string":"q\\""}', "7122"),
    Written("STRING", "\\", '"\\\\"', '"\\"', "02025c", '{"string":"\\\\"}', "5c"),
    Written("STRING", "\t\x01\x7f", '"\\t\\u0001\x7f"', '"\t\x01\x7f"', "020609017f", '{"string":"\\t\\u0001\x7f"}',
            "09017f"),
    Written("STRING", "é你", '"é你"', "é你", "020ac3a9e4bda0", '{"string":"é你"}', "c3a9e4bda0"),
    Written("STRING", "😀", '"\\uD83D\\uDE00"', "😀", "0208f09f9880", '{"string":"\\uD83D\\uDE00"}', "f09f9880"),
    Written("STRING", "x" * 24, f'"{"x" * 24}"', "x" * 24, "0230" + "78" * 24, f'{{"string":"{"x" * 24}"}}', "78" * 24),
    Written("STRING", "x" * 25, f'"{"x" * 25}"', f'"{"x" * 25}"', "0232" + "78" * 25, f'{{"string":"{"x" * 25}"}}',
            "78" * 25),
    Written("CHAR(3)", "ab", '"ab"', "ab", "02046162", '{"string":"ab"}', "6162"),
    Written("VARCHAR(3)", "abc", '"abc"', "abc", "0206616263", '{"string":"abc"}', "616263"),
    Written("STRING NOT NULL", "k", '"k"', "k", "026b", '"k"', "6b"),
    Written("BYTES", b"\xff\xee\x00", '"/+4A"', '"/+4A"', "0206ffee00", '{"bytes":"ÿî\\u0000"}', "ffee00"),
    Written("BYTES", b"", '""', "", "0200", '{"bytes":""}', ""),
    Written("BINARY(2)", b"\x01\x02", '"AQI="', "AQI=", "02040102", '{"bytes":"\\u0001\\u0002"}', "0102"),
    Written("VARBINARY(4)", b"\x01", '"AQ=="', "AQ==", "020201", '{"bytes":"\\u0001"}', "01"),
)  # fmt: skip

MOMENTS: Final = (
    Written("DATE", date(2024, 2, 29), '"2024-02-29"', "2024-02-29", "028cb502", '{"int":19782}'),
    Written("DATE", date(1969, 12, 31), '"1969-12-31"', "1969-12-31", "0201", '{"int":-1}'),
    Written("TIME", 25_689_000, '"07:08:09"', "07:08:09", "02d0eebf18", '{"int":25689000}'),
    Written("TIME(3)", 25_689_120, '"07:08:09"', "07:08:09.12", "02c0f0bf18", '{"int":25689120}', read=_WHOLE_SECONDS),
    Written("TIME(1)", 0, '"00:00:00"', "00:00:00", "0200", '{"int":0}'),
    Written("TIMESTAMP(0)", moment("2024-05-06 07:08:00"), '"2024-05-06 07:08:00"', '"2024-05-06 07:08:00"',
            "0280d2d8cbe963", '{"long":1714979280000}'),
    Written("TIMESTAMP(3)", moment("2024-05-06 07:08:09.100"), '"2024-05-06 07:08:09.1"', '"2024-05-06 07:08:09.1"',
            "0298e0d9cbe963", '{"long":1714979289100}'),
    Written("TIMESTAMP(3)", moment("1969-12-31 23:59:59.999"), '"1969-12-31 23:59:59.999"',
            '"1969-12-31 23:59:59.999"', "0201", '{"long":-1}'),
    Written("TIMESTAMP(6)", moment("2024-05-06 07:08:09.123456"), '"2024-05-06 07:08:09.123456"',
            '"2024-05-06 07:08:09.123456"'),
    Written("TIMESTAMP(9)", moment("2024-05-06 07:08:09.000001"), '"2024-05-06 07:08:09.000001"',
            '"2024-05-06 07:08:09.000001"'),
    Written("TIMESTAMP_LTZ(3)", datetime(2024, 5, 6, 7, 8, 9, 120_000, UTC), '"2024-05-06 07:08:09.12Z"',
            '"2024-05-06 07:08:09.12Z"'),
    Written("INTERVAL YEAR TO MONTH", 14, "14"),
    Written("INTERVAL DAY TO SECOND(3)", -86_400_001, "-86400001"),
)  # fmt: skip

NEWER_AVRO: Final = (
    Written("TIMESTAMP(3)", moment("2024-05-06 07:08:09.100"), "", None, "0298e0d9cbe963", '{"long":1714979289100}'),
    Written("TIMESTAMP(6)", moment("2024-05-06 07:08:09.123456"), "", None, "02c6e0d9cbe963",
            '{"long":1714979289123}', read=_MILLIS),
    Written("TIMESTAMP_LTZ(3)", datetime(2024, 5, 6, 7, 8, 9, 100_000, UTC), "", None, "0298e0d9cbe963",
            '{"long":1714979289100}'),
)  # fmt: skip
"""With 'timestamp_mapping.legacy' = 'false'. Its schema may say micros; the values that Flink writes are millis."""

NESTED: Final = (
    Written("ARRAY<INT>", [1, None], "[1,null]", "1;~", "020402020000", '{"array":[{"int":1},null]}'),
    Written("ARRAY<INT>", [], "[]", "", "0200", '{"array":[]}'),
    Written("ARRAY<STRING NOT NULL>", ["a", "b c"], '["a","b c"]', '"a;b c"', "0204026106622063" + "00",
            '{"array":["a","b c"]}'),
    Written("ARRAY<TIMESTAMP(3)>", [moment("1970-01-01 00:00:00.001")], '["1970-01-01 00:00:00.001"]',
            '"1970-01-01 00:00:00.001"', "0202020200", '{"array":[{"long":1}]}'),
    Written("ARRAY<TIME>", [1000, 3_600_000], '["00:00:01","01:00:00"]', "00:00:01;01:00:00",
            "020402d00f0280bab70300", '{"array":[{"int":1000},{"int":3600000}]}'),
    Written("MAP<STRING, INT>", [("b", 1), ("c", None)], '{"b":1,"c":null}', None, "02040262020202630000",
            '{"map":{"b":{"int":1},"c":null}}'),
    Written("MAP<STRING, INT>", [], "{}", None, "0200", '{"map":{}}'),
    Written("MAP<STRING NOT NULL, BYTES NOT NULL>", [('"', b"\x01")], '{"\\"":"AQ=="}', None, "02020222020100",
            '{"map":{"\\"":"\\u0001"}}'),
    Written("MULTISET<STRING>", [("a", 2)], '{"a":2}', None, "02020261020400", '{"map":{"a":{"int":2}}}'),
    Written("ROW<x BIGINT, y STRING>", {"x": 9, "y": None}, '{"x":9,"y":null}', "9;~", "02021200",
            f'{{"{RECORD}":{{"x":{{"long":9}},"y":null}}}}'),
    Written("ROW<x BIGINT NOT NULL, d DECIMAL(3, 1)>", {"x": -1, "d": Decimal("1.5")}, '{"x":-1,"d":1.5}', "-1;1.5",
            "020102020f", f'{{"{RECORD}":{{"x":-1,"d":{{"bytes":"\\u000F"}}}}}}'),
    Written("ARRAY<ROW<m MAP<STRING, ARRAY<DATE>>>>", [{"m": [("k", [date(1970, 1, 2)])]}],
            '[{"m":{"k":["1970-01-02"]}}]', None, "020202" + "02" + "02026b02" + "0202" + "0200" + "00" + "00",
            f'{{"array":[{{"{RECORD}":{{"m":{{"map":{{"k":{{"array":[{{"int":1}}]}}}}}}}}}}]}}'),
)  # fmt: skip

ALL: Final = NUMBERS + TEXTS_AND_BYTES + MOMENTS + NESTED
