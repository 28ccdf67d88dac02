"""Functions of Flink that are recognised and refused."""

from __future__ import annotations

from typing import Final

from millstream.sql.functions import Category, Missing

_VARIANT: Final = "Values of type VARIANT are not supported yet."
_STRUCTURED: Final = "Structured types of Java classes are not supported."
_NO_WATERMARK_HERE: Final = "Only operators that keep state know the watermark, not expressions over single rows."
_NO_SOURCE_WATERMARKS: Final = "No connector gives watermarks of its own; in Flink, the one for Kafka does not either."
_OF_GROUPS: Final = "It is for GROUP BY, and what asks for its bounds is for queries with it there."

MISSING: Final = (
    Missing("OVERLAPS", Category.TEMPORAL, "It is not supported yet.", "Compare the ends of the two intervals."),
    Missing(
        "CURRENT_WATERMARK", Category.TEMPORAL, _NO_WATERMARK_HERE,
        "Leave the condition out: windows and joins on event time drop late rows, and count them.",
    ),
    Missing(
        "SOURCE_WATERMARK", Category.TEMPORAL, _NO_SOURCE_WATERMARKS,
        "Write the WATERMARK clause with the column, e.g. ts - INTERVAL '5' SECOND.",
    ),
    Missing("PARSE_JSON", Category.JSON, _VARIANT, "Use JSON_VALUE or JSON_QUERY on the text."),
    Missing("TRY_PARSE_JSON", Category.JSON, _VARIANT, "Use JSON_VALUE or JSON_QUERY on the text."),
    Missing("JSON_OBJECTAGG", Category.AGGREGATE, "It is not supported yet."),
    Missing("JSON_ARRAYAGG", Category.AGGREGATE, "It is not supported yet.", "Use ARRAY_AGG."),
    Missing("OBJECT_OF", Category.COLLECTION, _STRUCTURED, "Use ROW(…)."),
    Missing("OBJECT_UPDATE", Category.COLLECTION, _STRUCTURED, "Use ROW(…)."),
    Missing("DESCRIPTOR", Category.COLLECTION, "It names a column for a table function, after FROM."),
    Missing("HASH_CODE", Category.HASH, "Java's hash codes are not computed.", "Use MD5 or SHA256."),
    Missing("APPROX_COUNT_DISTINCT", Category.AGGREGATE, "It is not supported yet.", "Use COUNT(DISTINCT …)."),
    Missing("SINGLE_VALUE", Category.AGGREGATE, "It is for sub-queries inside Flink."),
    *(
        Missing(f"{window}{part}", Category.TEMPORAL, why, hint)
        for window, why, hint in (
            ("TUMBLE", _OF_GROUPS, "Write GROUP BY TUMBLE(ts, INTERVAL '10' MINUTE)."),
            ("HOP", _OF_GROUPS, "Write GROUP BY HOP(ts, INTERVAL '5' MINUTE, INTERVAL '10' MINUTE)."),
            ("SESSION", _OF_GROUPS, "Write GROUP BY k, SESSION(ts, INTERVAL '10' MINUTE)."),
        )
        for part in ("", "_START", "_END", "_ROWTIME", "_PROCTIME")
    ),
    Missing("CURRENT_DATABASE", Category.CONVERSION, "SHOW CURRENT DATABASE shows the one in use."),
)  # fmt: skip
