"""What to write instead of clauses that are not supported yet, by the name in the error."""

from __future__ import annotations

from typing import Final

_ONE_TOPIC: Final = "Write the rows of both into one topic with two INSERTs"
_BOUNDED: Final = (
    "Write a number, e.g. LIMIT 10; or limit the input: with WHERE, 'scan.bounded.mode' of a Kafka table, "
    "'number-of-rows' of datagen."
)
_USING: Final = "Name the columns that are equal: {} JOIN … USING (id)."
_SEMI: Final = "Write WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.id), or WHERE a.id IN (SELECT id FROM b)."
_ANTI: Final = "Write WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.id = a.id)."
_AS_OF: Final = (
    "Join by the key, and put the times into the condition: JOIN b ON a.id = b.id AND b.ts <= a.ts. That finds all "
    "earlier rows; GROUP BY the columns of a with MAX(b.ts) gives the latest."
)
_SUBQUERY: Final = (
    "Write it in WHERE, HAVING or the select list; or join with the query in FROM: "
    "FROM a CROSS JOIN (SELECT MAX(x) AS most FROM b) AS m."
)
_MEMBER: Final = "Write it in WHERE, HAVING or the select list; or join with the distinct rows of the query in FROM."

ALTERNATIVES: Final = {
    "OUTER JOIN": "Say which side is kept: LEFT, RIGHT or FULL JOIN.",
    **{f"NATURAL {kind} JOIN": _USING.format(kind) for kind in ("LEFT", "RIGHT", "FULL")},
    **{f"{kind} JOIN": _SEMI for kind in ("SEMI", "LEFT SEMI", "RIGHT SEMI")},
    **{f"{kind} JOIN": _ANTI for kind in ("ANTI", "LEFT ANTI", "RIGHT ANTI")},
    **{f"{kind} JOIN": _AS_OF for kind in ("ASOF", "ASOF LEFT")},
    "anything but a table or a query after FROM": "Name a table or a view, or write a query in parentheses.",
    "NATURAL JOIN": "Name the columns that are equal: JOIN … USING (id).",
    "STRAIGHT_JOIN": "Write JOIN.",
    "a join in parentheses": "Write the joins one after the other, FROM a JOIN b ON … JOIN c ON …, or a query in the "
    "parentheses: (SELECT … FROM b JOIN c ON …) AS t.",
    "a table in parentheses": "Write its name without them.",
    **dict.fromkeys(
        (
            f"{word}{every} {way}"
            for word in ("UNION", "INTERSECT", "EXCEPT")
            for every in ("", " ALL")
            for way in ("CORRESPONDING", "BY NAME")
        ),
        "Leave the words out and select the same columns in each query, in the same order.",
    ),
    "FOR SYSTEM_TIME AS OF": "Read the table as it is now: leave the clause out.",
    "OVER in this place": "Compute it in a query in FROM, and use its column: SELECT … FROM (SELECT …, SUM(x) OVER (…) "
    "AS total FROM …) WHERE total > 10.",
    "LATERAL": "Of what comes after LATERAL, TABLE(f(…)) and UNNEST(…) are supported; write a query without LATERAL.",
    "a table function": "Write it after LATERAL: FROM t, LATERAL TABLE(f(t.a)) AS u (b).",
    "UNNEST … WITH OFFSET": "Write WITH ORDINALITY, which counts from 1.",
    "DISTINCT ON": "Number the rows of each group: SELECT … FROM (SELECT …, ROW_NUMBER() OVER (PARTITION BY … "
    "ORDER BY …) AS rn FROM …) WHERE rn = 1.",
    "UNNEST of several collections": "Write one after the other: FROM t, UNNEST(t.a) AS a, UNNEST(t.b) AS b, which "
    "gives all pairs.",
    "UNNEST of columns of several tables": "Compute the collection in a query in parentheses that joins the tables, "
    "and unnest its column: FROM (SELECT …) AS t, UNNEST(t.a) AS a.",
    "UNNEST of a table that is looked up": "Look its rows up in a query in parentheses, and unnest its column: "
    "FROM (SELECT …) AS t, UNNEST(t.a) AS a.",
    "UNNEST of what an outer join may have filled with NULL": "Join in a query in parentheses, and unnest its column: "
    "FROM (SELECT …) AS t, UNNEST(t.a) AS a.",
    "UNNEST of no column behind a full join": "Join in a query in parentheses: FROM (SELECT … FROM a FULL JOIN b ON …) "
    "AS t, UNNEST(ARRAY[1, 2]) AS x.",
    "LEFT JOIN UNNEST with another condition than TRUE": "Write ON TRUE, and the condition into WHERE or into the "
    "collection.",
    "UNNEST with USING": "Write the condition into WHERE.",
    **{f"{kind} JOIN UNNEST": "Write CROSS JOIN, or LEFT JOIN … ON TRUE." for kind in ("RIGHT", "FULL", "NATURAL")},
    "ORDER BY": "Add LIMIT, e.g. LIMIT 100, or leave it out: rows arrive in the order of their partitions, and an "
    "endless stream cannot be sorted. A SELECT of bounded tables at the top of a script may have ORDER BY alone.",
    "LIMIT": _BOUNDED,
    "FETCH": _BOUNDED,
    "OFFSET": _BOUNDED,
    "TABLESAMPLE": "Choose rows with WHERE, e.g. WHERE RAND() < 0.1.",
    "MATCH_RECOGNIZE": "Write the rows by key into a topic, and look for patterns in the program that reads it.",
    "INSERT … ON CONFLICT": "Leave it out: in an upsert-kafka table the last row of a key wins.",
    "TABLE as a query": "Write SELECT * FROM and the table's name.",
    "IN with a sub-query": _MEMBER,
    "EXISTS": _MEMBER,
    **dict.fromkeys(
        ("a comparison with ANY", "a comparison with ALL"),
        "Compare with the least or greatest value, x > (SELECT MIN(y) FROM b); x = ANY is IN, and x <> ALL is NOT IN.",
    ),
    "the operator RLIKE or REGEXP": "Use the function: REGEXP(text, pattern).",
    "a sub-query in an expression": _SUBQUERY,
    "WITH RECURSIVE": "Leave RECURSIVE out if no query reads itself; else follow the steps in a Python function.",
}
