"""Functions of Flink that are recognised and refused."""

from __future__ import annotations

from typing import Final

from millstream.sql.alternatives import WINDOWS
from millstream.sql.functions import Category, Missing

_VARIANT: Final = "Values of type VARIANT are not supported yet."
_STRUCTURED: Final = "Structured types of Java classes are not supported."
_NO_WATERMARKS: Final = "Watermarks have no effect yet."
_OLD_WINDOW: Final = "Windows are not supported yet, in GROUP BY or after FROM."

MISSING: Final = (
    Missing("OVERLAPS", Category.TEMPORAL, "It is not supported yet.", "Compare the ends of the two intervals."),
    Missing("CURRENT_WATERMARK", Category.TEMPORAL, _NO_WATERMARKS),
    Missing(
        "SOURCE_WATERMARK", Category.TEMPORAL, _NO_WATERMARKS,
        "Leave the WATERMARK clause out, or write it with the column, e.g. ts - INTERVAL '5' SECOND.",
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
        Missing(f"{window}{part}", Category.TEMPORAL, _OLD_WINDOW, WINDOWS[window])
        for window in ("TUMBLE", "HOP", "SESSION")
        for part in ("", "_START", "_END", "_ROWTIME", "_PROCTIME")
    ),
    Missing("CURRENT_DATABASE", Category.CONVERSION, "SHOW CURRENT DATABASE shows the one in use."),
)  # fmt: skip
