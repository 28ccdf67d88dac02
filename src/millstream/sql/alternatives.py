"""What to write instead of clauses that are not supported yet, by the name in the error."""

from __future__ import annotations

from typing import Final

_ONE_TOPIC: Final = "Write the rows of both into one topic with two INSERTs"
_ONE_ROW_PER_KEY: Final = (
    "Use GROUP BY: it keeps one row for each key, updated as rows arrive, with LAST_VALUE, MAX or SUM"
)
_TRUNCATED: Final = "group by a truncated time, e.g. FLOOR(ts TO MINUTE), into an upsert-kafka table"
_ROW_NUMBER: Final = (
    "SELECT … FROM (SELECT …, ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) AS rn FROM …) WHERE rn <= 3"
)
_BOUNDED: Final = (
    "Write a number, e.g. LIMIT 10; or limit the input: with WHERE, 'scan.bounded.mode' of a Kafka table, "
    "'number-of-rows' of datagen."
)
_OUTER: Final = f"{_ONE_TOPIC}, and GROUP BY the key there: MAX or LAST_VALUE give the columns of each."
_SEMI: Final = "Join with the distinct keys of the other table: JOIN (SELECT DISTINCT id FROM b) AS k ON a.id = k.id."
_ANTI: Final = (
    f"{_ONE_TOPIC}, adding a column side that says where each row is from, and keep the keys of one side only with "
    "GROUP BY … HAVING COUNT(DISTINCT side) = 1 AND MAX(side) = 'a'."
)
_AS_OF: Final = (
    "Join by the key, and put the times into the condition: JOIN b ON a.id = b.id AND b.ts <= a.ts. That finds all "
    "earlier rows; GROUP BY the columns of a with MAX(b.ts) gives the latest."
)
_SUBQUERY: Final = "List the values, or look them up in a Python function."

WINDOWS: Final = {
    "TUMBLE": f"For windows of a fixed unit, {_TRUNCATED}.",
    "HOP": f"Windows cannot overlap yet; if they need not, {_TRUNCATED}.",
    "CUMULATE": f"Windows cannot overlap yet; if they need not, {_TRUNCATED}.",
    "SESSION": f"There is no equivalent for session windows yet; if fixed windows are enough, {_TRUNCATED}.",
}
ALTERNATIVES: Final = {
    **{f"window function {window}": hint for window, hint in WINDOWS.items()},
    **{f"{kind} JOIN": _OUTER for kind in ("LEFT", "RIGHT", "FULL", "OUTER")},
    **{f"NATURAL {kind} JOIN": _OUTER for kind in ("LEFT", "RIGHT", "FULL")},
    **{f"{kind} JOIN": _SEMI for kind in ("SEMI", "LEFT SEMI", "RIGHT SEMI")},
    **{f"{kind} JOIN": _ANTI for kind in ("ANTI", "LEFT ANTI", "RIGHT ANTI")},
    **{f"{kind} JOIN": _AS_OF for kind in ("ASOF", "ASOF LEFT")},
    "anything but a table or a query after FROM": "Name a table or a view, or write a query in parentheses.",
    "CROSS JOIN": "Join by a condition instead: JOIN … ON a.id = b.id.",
    "NATURAL JOIN": "Name the columns that are equal: JOIN … USING (id).",
    "STRAIGHT_JOIN": "Write JOIN.",
    "a join in parentheses": "Write the joins one after the other, FROM a JOIN b ON … JOIN c ON …, or a query in the "
    "parentheses: (SELECT … FROM b JOIN c ON …) AS t.",
    "a table in parentheses": "Write its name without them.",
    **dict.fromkeys(
        ("UNION CORRESPONDING", "UNION ALL CORRESPONDING", "UNION BY NAME", "UNION ALL BY NAME"),
        "Leave the words out and select the same columns in each query, in the same order.",
    ),
    "a join FOR SYSTEM_TIME AS OF": "Look the value up in a Python function: CREATE FUNCTION … LANGUAGE PYTHON.",
    "FOR SYSTEM_TIME AS OF": "Read the table as it is now: leave the clause out.",
    "INTERSECT": f"{_ONE_TOPIC}, adding a column side that says where each row is from, and select there with "
    "GROUP BY … HAVING COUNT(DISTINCT side) = 2.",
    "EXCEPT": f"{_ONE_TOPIC}, adding a column that says where each row is from, and select there with "
    "GROUP BY … HAVING.",
    "OVER": f"For the first rows of each group, write {_ROW_NUMBER}. {_ONE_ROW_PER_KEY}.",
    "ROW_NUMBER": f"Compare it in the query around: {_ROW_NUMBER}.",
    "ROW_NUMBER() without ORDER BY": "Add ORDER BY, with a column AS PROCTIME() for the order of arrival.",
    **dict.fromkeys(
        ("RANK()", "DENSE_RANK()"),
        f"Use ROW_NUMBER(), which numbers rows that are equal in the order, too: {_ROW_NUMBER}.",
    ),
    "a second OVER in one SELECT": f"Number rows in a query each: {_ROW_NUMBER}.",
    "WINDOW": f"{_ONE_ROW_PER_KEY}.",
    "UNNEST": "Take the elements one by one, e.g. tags[1], or produce one message for each.",
    "LATERAL": "A function returns one value per row: let it return an ARRAY or a ROW.",
    "LATERAL TABLE": "A function returns one value per row: let it return an ARRAY or a ROW.",
    "a table function": "A function returns one value per row: let it return an ARRAY or a ROW.",
    "ORDER BY": "Add LIMIT, e.g. LIMIT 100, or leave it out: rows arrive in the order of their partitions, and an "
    "endless stream cannot be sorted.",
    "LIMIT": _BOUNDED,
    "FETCH": _BOUNDED,
    "OFFSET": _BOUNDED,
    "TABLESAMPLE": "Choose rows with WHERE, e.g. WHERE RAND() < 0.1.",
    "MATCH_RECOGNIZE": "Write the rows by key into a topic, and look for patterns in the program that reads it.",
    "INSERT … ON CONFLICT": "Leave it out: in an upsert-kafka table the last row of a key wins.",
    "TABLE as a query": "Write SELECT * FROM and the table's name.",
    "IN with a sub-query": _SUBQUERY,
    "EXISTS": _SUBQUERY,
    "the operator RLIKE or REGEXP": "Use the function: REGEXP(text, pattern).",
    "a sub-query in an expression": _SUBQUERY,
    "WITH RECURSIVE": "Leave RECURSIVE out if no query reads itself; else follow the steps in a Python function.",
}
