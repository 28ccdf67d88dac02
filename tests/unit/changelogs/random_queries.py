"""Small random queries on top of each other, of all operators that there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

    Columns = list[tuple[str, str]]

NUMBER, TEXT = "number", "text"


@dataclass(frozen=True, slots=True)
class RandomQuery:
    sql: str
    oracle: str
    """The same for DuckDB, which has one row of an aggregate over nothing where a stream has none."""
    columns: tuple[tuple[str, str], ...]
    """Names or expressions, and whether they are numbers or texts."""


_TABLE: Final = RandomQuery("t", "t", (("id", NUMBER), ("g", TEXT), ("h", NUMBER), ("x", NUMBER)))
_OTHER_SIDE: Final = 100
"""Levels of a second input are counted from here, so that its names are others."""
_WORDS: Final = ("UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")


def random_query(chance: Random) -> RandomQuery:
    query = _TABLE
    for level in range(chance.choice([1, 1, 1, 2, 2, 3])):
        made = _Level(chance, query, level)
        kinds = [made.group, made.group, made.select, made.select, made.combine, made.combine, made.join, made.join]
        kinds += [made.member, made.value, made.value, made.unnest, made.top, made.limit, made.over]
        query = chance.choice(kinds)()
    return query


class _Level:
    """One query over another."""

    def __init__(self, chance: Random, below: RandomQuery, level: int) -> None:
        self._chance = chance
        self._below = below
        self._columns = list(below.columns)
        self._level = level

    def select(self) -> RandomQuery:
        verb = self._chance.choice(["SELECT", "SELECT DISTINCT"])
        first = self._columns[:1] if self._chance.random() < 0.6 else []  # most often a key, or a part of it
        items = dict.fromkeys(first + self._some(self._columns, 1, 3) + self._some(self._expressions(), 0, 1))
        return self._query(verb, list(items))

    def group(self) -> RandomQuery:
        keys = self._some(self._columns + self._expressions(), 0, 2)
        calls = self._some(self.calls(), 1, 3)
        listed = ", ".join(sql for sql, _ in keys)
        group = f" GROUP BY {f'ROLLUP ({listed})' if self._chance.random() < 0.2 else listed}" if keys else ""
        call, number, is_asked = self._chance.choice(calls), self._chance.randint(0, 2), self._chance.random() < 0.5
        having = [_compare(*call, number)] if is_asked else []
        asked, there = (f" HAVING {' AND '.join(all_)}" if all_ else "" for all_ in (having, [*having, "COUNT(*) > 0"]))
        return self._query("SELECT", keys + calls, group + asked, group + there)

    def combine(self) -> RandomQuery:
        """A query over what is below, and one or two over the table with columns of the same types.

        Of two, the words decide which are combined first.
        """
        sides = [self.select()]
        types = [type_ for _, type_ in sides[0].columns]
        words = self._chance.choices(_WORDS, k=self._chance.choice([1, 1, 2]))
        for number in range(1, len(words) + 1):
            other = _Level(self._chance, _TABLE, self._level + number * _OTHER_SIDE)
            sides.append(other.of_types(types))
        texts = []
        for of_sides in ([side.sql for side in sides], [side.oracle for side in sides]):
            pairs = zip(words, of_sides[1:], strict=True)
            texts.append(" ".join((of_sides[0], *(f"{word} {side}" for word, side in pairs))))
        return RandomQuery(texts[0], texts[1], sides[0].columns)

    def of_types(self, types: list[str]) -> RandomQuery:
        chosen = [self._chance.choice([item for item in self._columns if item[1] == type_]) for type_ in types]
        return self._query("SELECT", chosen)

    def join(self) -> RandomQuery:
        """What is below and another query, by one or two columns of each, most often."""
        second, pairs = self._second()
        if not pairs:
            return self.select()
        word = self._chance.choice(["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        on = self._condition_of_pairs(pairs, second.columns)
        ends = [f"ON {on}"]
        if self._chance.random() < 0.3:
            left, right = self._chance.choice(pairs)
            ends.append(f"WHERE {self._chance.choice([f'a.{left} = b.{right}', f'a.{left} IS NULL'])}")
        if self._chance.random() < 0.05:
            word, ends = "CROSS JOIN", []
        columns = [(f"a.{name}", type_) for name, type_ in self._columns]
        columns += [(f"b.{name}", type_) for name, type_ in second.columns]
        named = [(f"c{self._level}_{at}", *item) for at, item in enumerate(self._some(columns, 1, 4))]
        listed = ", ".join(f"{sql} AS {name}" for name, sql, _ in named)
        sql, oracle = (
            f"SELECT {listed} FROM {'t' if one == 't' else f'({one})'} AS a {word} ({two}) AS b {' '.join(ends)}"
            for one, two in ((self._below.sql, second.sql), (self._below.oracle, second.oracle))
        )
        return RandomQuery(sql, oracle, tuple((name, type_) for name, _, type_ in named))

    def member(self) -> RandomQuery:
        """Rows of what is below that another query has, or does not have."""
        second, pairs = self._second()
        if not pairs:
            return self.select()
        word = self._chance.choice(["EXISTS", "EXISTS", "NOT EXISTS", "NOT EXISTS", "IN", "NOT IN"])
        left, right = self._chance.choice(pairs)
        on = self._condition_of_pairs(pairs, second.columns)
        before, item, end = word, "1", f" WHERE {on}"
        if word.endswith("IN"):
            before, item, end = f"a.{left} {word}", right, self._chance.choice(["", "", end])
        first = ("", "")
        if word.endswith("IN") and self._chance.random() < 0.2:  # only in the first rows
            end = f" WHERE a.{left} = b.{self._chance.choice([name for one, name in pairs if one == left])}"
            orders = _Level(self._chance, second, self._level).order([name for name, _ in second.columns])
            limit = self._chance.choice([1, 2])
            first = (f" ORDER BY {orders[0]} LIMIT {limit}", f" ORDER BY {orders[1]} LIMIT {limit}")
        elif self._chance.random() < 0.2:  # only groups
            own, theirs = self._chance.choice(pairs)
            end = f" WHERE a.{own} = b.{theirs} GROUP BY b.{right} HAVING COUNT(*) > {self._chance.choice([0, 1])}"
        members = [
            f"{before} (SELECT {item} FROM ({two}) AS b{end}{rows})"
            for two, rows in zip((second.sql, second.oracle), first, strict=True)
        ]
        named = [(f"c{self._level}_{at}", *item) for at, item in enumerate(self._some(self._columns, 1, 3))]
        columns = [(name, type_) for name, _, type_ in named]
        listed = ", ".join(f"a.{sql} AS {name}" for name, sql, _ in named)
        form = self._chance.choice(["{}", "{}", f"{self._condition()} AND {{}}", *self._forms()])
        sql, oracle = (
            f"SELECT {listed} FROM {'t' if one == 't' else f'({one})'} AS a WHERE {form.format(member)}"
            for one, member in zip((self._below.sql, self._below.oracle), members, strict=True)
        )
        if self._chance.random() < 0.3:  # as a number for each row, or for each group
            name, form = f"c{self._level}_m", self._chance.choice(self._forms())
            value = f"CASE WHEN {form} THEN 1 WHEN NOT ({form}) THEN 0 END"
            all_columns = ", ".join(f"a.{column}" for column, _ in self._columns)
            end = self._chance.choice(["", "", f" GROUP BY {all_columns}", f" GROUP BY {all_columns} HAVING {form}"])
            value = f"SUM({value})" if end and self._chance.random() < 0.5 else value
            sql, oracle = (
                f"SELECT {listed}, {value.format(member, member)} AS {name} "
                f"FROM {'t' if one == 't' else f'({one})'} AS a{end.format(member)}"
                for one, member in zip((self._below.sql, self._below.oracle), members, strict=True)
            )
            columns.append((name, NUMBER))
        return RandomQuery(sql, oracle, tuple(columns))

    def _forms(self) -> list[str]:
        """Where a condition may stand, so that it does not just drop rows."""
        other = self._condition()
        return [
            f"({{}} OR {other})",
            f"NOT ({{}} OR {other})",
            "({}) IS NOT TRUE",
            f"({{}}) = ({other})",
            "({}) IS UNKNOWN",
        ]

    def value(self) -> RandomQuery:
        """What another query has for each row, or for each group: in the select list, or compared with something."""
        is_grouped = self._chance.random() < 0.3
        known = self._some(self._columns, 1, 2)
        items = [(f"a.{name}", type_) for name, type_ in known]
        ends = ["", ""]
        if is_grouped:
            listed = ", ".join(name for name, _ in items)
            items.append(("COUNT(*)", NUMBER))
            ends = [f" GROUP BY {listed}"] * 2
        texts = [[*(name for name, _ in items)] for _ in ends]
        types = [type_ for _, type_ in items]
        for is_compared in self._chance.choice([[True], [False], [False], [True, False], [False, False]]):
            value, type_ = self._value_for(known if is_grouped else self._columns)
            if not is_compared:
                texts, types = [[*one, other] for one, other in zip(texts, value, strict=True)], [*types, type_]
                continue
            same = [name for name, own in (items if is_grouped else self._qualified()) if own == type_]
            if same:
                compared = f"{self._chance.choice(same)} {self._chance.choice(['>=', '<', '=', '<>'])}"
                word = "HAVING" if is_grouped else "WHERE"
                ends = [f"{end} {word} {compared} {other}" for end, other in zip(ends, value, strict=True)]
        names = [f"c{self._level}_{at}" for at in range(len(types))]
        sql, oracle = (
            f"SELECT {', '.join(f'{one} AS {name}' for one, name in zip(chosen, names, strict=True))} "
            f"FROM {'t' if below == 't' else f'({below})'} AS a{end}"
            for chosen, below, end in zip(texts, (self._below.sql, self._below.oracle), ends, strict=True)
        )
        return RandomQuery(sql, oracle, tuple(zip(names, types, strict=True)))

    def _qualified(self) -> Columns:
        return [(f"a.{name}", type_) for name, type_ in self._columns]

    def _value_for(self, known: Columns) -> tuple[list[str], str]:
        """A sub-query of one row, for Flink and for DuckDB, and its type; it may compare what is `known`."""
        second = _Level(self._chance, _TABLE, self._level + _OTHER_SIDE).any_input()
        inner = _Level(self._chance, second, self._level)
        call, type_ = self._chance.choice(inner.calls())
        if type_ == NUMBER and self._chance.random() < 0.3:
            call = self._chance.choice([f"{call} + 1", f"COALESCE({call}, 7)"])
        pairs = [(f"a.{left}", f"b.{right}") for left, one in known for right, other in second.columns if one == other]
        chosen = self._chance.sample(pairs, min(len(pairs), self._chance.choice([0, 1, 1, 1, 2])))
        conditions = [" = ".join(self._chance.sample(pair, 2)) for pair in chosen]
        if self._chance.random() < 0.3:
            conditions.append(_compare(*self._chance.choice(second.columns), 0))
        end = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if self._chance.random() < 0.25:  # that of the first row
            name, type_ = self._chance.choice(second.columns)
            orders = inner.order([name for name, _ in second.columns])
            both = zip((second.sql, second.oracle), orders, strict=True)
            return [f"(SELECT b.{name} FROM ({one}) AS b{end} ORDER BY {order} LIMIT 1)" for one, order in both], type_
        having = f" HAVING {_compare(*self._chance.choice(inner.calls()), 1)}" if self._chance.random() < 0.2 else ""
        return [f"(SELECT {call} FROM ({text}) AS b{end}{having})" for text in (second.sql, second.oracle)], type_

    def _second(self) -> tuple[RandomQuery, list[tuple[str, str]]]:
        """Another query over the table, and which of its columns can be compared with which of those below."""
        second = _Level(self._chance, _TABLE, self._level + _OTHER_SIDE).any_input()
        return second, [
            (left, right)
            for left, type_ in self._columns
            for right, other_type in second.columns
            if type_ == other_type
        ]

    def any_input(self) -> RandomQuery:
        kinds = [self.group, self.group, self.select, self.select, self.combine, self.top, self.limit, self.unnest]
        return self._chance.choice(kinds)()

    def _condition_of_pairs(self, pairs: list[tuple[str, str]], columns: tuple[tuple[str, str], ...]) -> str:
        """One or two equalities, and perhaps something else, of one side or of both."""
        keys = self._chance.sample(pairs, min(len(pairs), self._chance.choice([1, 1, 2])))
        conditions = [f"a.{left} = b.{right}" for left, right in keys]
        if self._chance.random() < 0.4:
            left, right = self._chance.choice(pairs)
            own, theirs = self._chance.choice(self._columns), self._chance.choice(columns)
            of_one = (_compare(f"a.{own[0]}", own[1], 0), _compare(f"b.{theirs[0]}", theirs[1], 1))
            of_both = (f"a.{left} <> b.{right}", f"a.{left} <= b.{right}", f"(a.{left} < b.{right} OR {of_one[0]})")
            conditions.append(self._chance.choice((*of_one, *of_both)))
            conditions = conditions[-1:] if self._chance.random() < 0.15 else conditions
        return " AND ".join(conditions)

    def unnest(self) -> RandomQuery:
        """Each row once per part of a text, with its number or without."""
        texts = [name for name, type_ in self._columns if type_ == TEXT]
        if not texts:
            return self.select()
        text, other, number = self._chance.choice(texts), self._chance.choice(texts), f"n{self._level}"
        array = self._chance.choice([f"SPLIT(a.{text} || ',' || a.{other}, ',')", f"SPLIT(a.{text}, 'b')"])
        numbered, is_left = self._chance.random() < 0.6, self._chance.random() < 0.4
        columns = [(f"a.{name}", type_) for name, type_ in self._columns]
        columns = columns[:1] + self._some(columns[1:], 0, 2) + [("e.part", TEXT)]
        columns += [(f"e.{number}", NUMBER)] if numbered else []
        named = [(f"c{self._level}_{at}", *item) for at, item in enumerate(columns)]
        listed = ", ".join(f"{sql} AS {name}" for name, sql, _ in named)
        sql, oracle = (text if text == "t" else f"({text})" for text in (self._below.sql, self._below.oracle))
        join, end = ("LEFT JOIN", " ON TRUE") if is_left else ("CROSS JOIN", "")
        ordinality, names = (" WITH ORDINALITY", f"part, {number}") if numbered else ("", "part")
        parts = f"SELECT UNNEST({array}) AS part, UNNEST(RANGE(1, LEN({array}) + 1)) AS {number}"
        return RandomQuery(
            f"SELECT {listed} FROM {sql} AS a {join} UNNEST({array}){ordinality} AS e ({names}){end}",
            f"SELECT {listed} FROM {oracle} AS a {join} LATERAL ({parts}) AS e{end}",
            tuple((name, type_) for name, _, type_ in named),
        )

    def top(self) -> RandomQuery:
        """The first rows of each group; the order is complete, since DuckDB breaks ties in any way."""
        keys = ", ".join(name for name, _ in self._some(self._columns, 0, 2))
        order = self.order([name for name, _ in self._columns])
        number = f"rn{self._level}"
        highest = self._chance.randint(1, 3)
        bound = self._chance.choice(
            [f"{number} <= {highest}", f"{highest} >= {number}", f"{number} < {highest + 1}", f"{number} = {highest}"]
        )
        shown = [(number, NUMBER)] if self._chance.random() < 0.4 else []
        named = [(f"c{self._level}_{at}", *item) for at, item in enumerate(self._some(self._columns, 1, 3) + shown)]
        listed = ", ".join(f"{sql} AS {name}" for name, sql, _ in named)
        extra = f" AND {self._condition()}" if self._chance.random() < 0.3 else ""
        group = f"PARTITION BY {keys} " if keys else ""
        sql, oracle = (
            f"SELECT {listed} FROM (SELECT *, ROW_NUMBER() OVER ({group}ORDER BY {by}) AS {number} FROM {below})"
            f" AS r{self._level} WHERE {bound}{extra}"
            for by, below in zip(order, self._below_as(f"q{self._level}"), strict=True)
        )
        return RandomQuery(sql, oracle, tuple((name, type_) for name, _, type_ in named))

    def over(self) -> RandomQuery:
        """Each row with what windows say about it.

        Over two orders rows are distinct: which of two equal ones comes first may differ from order to order.
        """
        keys = ", ".join(name for name, _ in self._some(self._columns, 0, 2))
        group = f"PARTITION BY {keys} " if keys else ""
        calls = self._some(self._window_calls(), 1, 3)
        windows = [[f"({group}ORDER BY {by}{{}})" for by in self.order([name for name, _ in self._columns])]]
        has_two = self._chance.random() < 0.3
        if has_two:
            windows.append([f"(ORDER BY {by}{{}})" for by in self.order([name for name, _ in self._columns])])
        made: list[tuple[str, str, str]] = []
        for call, type_ in calls:
            window, frame = self._chance.choice(windows), self._frame() if call[:3] in ("SUM", "MAX", "COU") else ""
            flink, duckdb = (f"{call} OVER {text.format(frame)}" for text in window)
            made.append((flink, duckdb, type_))
        named = [(f"c{self._level}_{at}", name, name, type_) for at, (name, type_) in enumerate(self._columns)]
        named += [(f"w{self._level}_{at}", *item) for at, item in enumerate(made)]
        sql, oracle = (
            f"SELECT {', '.join(f'{item[at]} AS {item[0]}' for item in named)} FROM "
            + (f"(SELECT DISTINCT * FROM {below}) AS d{self._level}" if has_two else below)
            for at, below in zip((1, 2), self._below_as(f"q{self._level}"), strict=True)
        )
        return RandomQuery(sql, oracle, tuple((name, type_) for name, _, _, type_ in named))

    def _frame(self) -> str:
        return self._chance.choice(
            [
                "",
                " ROWS 1 PRECEDING",
                " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            ]
        )

    def _window_calls(self) -> Columns:
        made = [("COUNT(*)", NUMBER), ("ROW_NUMBER()", NUMBER), ("RANK()", NUMBER), ("NTILE(2)", NUMBER)]
        for name, type_ in self._columns:
            made += [(f"LAG({name})", type_), (f"LEAD({name}, 2)", type_), (f"MAX({name})", type_)]
            made += [(f"SUM({name})", NUMBER)] if type_ == NUMBER else [(f"COUNT({name})", NUMBER)]
        return made

    def limit(self) -> RandomQuery:
        """ORDER BY … LIMIT, by all columns of the result."""
        items = [(f"c{self._level}_{at}", *item) for at, item in enumerate(self._some(self._columns, 1, 3))]
        verb = self._chance.choice(["SELECT", "SELECT", "SELECT DISTINCT"])
        listed = ", ".join(f"{sql} AS {name}" for name, sql, _ in items)
        skipped = self._chance.choice(["", "", " OFFSET 1", " OFFSET 2"])
        count = self._chance.choice([1, 2, 3])
        sql, oracle = (
            f"{verb} {listed} FROM {below} ORDER BY {by} LIMIT {count}"
            for by, below in zip(
                self.order([name for name, _, _ in items]), self._below_as(f"q{self._level}"), strict=True
            )
        )
        return RandomQuery(sql + skipped, oracle + skipped, tuple((name, type_) for name, _, type_ in items))

    def _below_as(self, name: str) -> tuple[str, str]:
        sql, oracle = ("t" if text == "t" else f"({text}) AS {name}" for text in (self._below.sql, self._below.oracle))
        return sql, oracle

    def order(self, columns: list[str]) -> tuple[str, str]:
        """By all columns, for Flink and for DuckDB, which has NULLs last unless told otherwise."""
        chosen = self._chance.sample(columns, len(columns))
        flink, duckdb = [], []
        for column in chosen:
            way, usual = self._chance.choice([("", "FIRST"), (" ASC", "FIRST"), (" DESC", "LAST")])
            nulls = self._chance.choice([None, None, "FIRST", "LAST"])
            flink.append(f"{column}{way}{f' NULLS {nulls}' if nulls else ''}")
            duckdb.append(f"{column}{way} NULLS {nulls or usual}")
        return ", ".join(flink), ", ".join(duckdb)

    def _query(self, verb: str, items: Columns, end: str = "", oracle_end: str = "") -> RandomQuery:
        named = [(f"c{self._level}_{at}", *item) for at, item in enumerate(items)]
        listed = ", ".join(f"{sql} AS {name}" for name, sql, _ in named)
        where = self._where()
        sql, oracle = (
            "t" if text == "t" else f"({text}) AS q{self._level}" for text in (self._below.sql, self._below.oracle)
        )
        return RandomQuery(
            f"{verb} {listed} FROM {sql}{where}{end}",
            f"{verb} {listed} FROM {oracle}{where}{oracle_end}",
            tuple((name, type_) for name, _, type_ in named),
        )

    def _where(self) -> str:
        conditions = [self._condition() for _ in range(self._chance.choice([0, 0, 1, 1, 2]))]
        return f" WHERE {self._chance.choice([' AND ', ' OR ']).join(conditions)}" if conditions else ""

    def _condition(self) -> str:
        name, type_ = self._chance.choice(self._columns)
        if self._chance.random() < 0.1:
            return f"{name} IS NOT NULL"
        return _compare(name, type_, self._chance.randint(0, 1))

    def _expressions(self) -> Columns:
        """Several values become one, so that a key of the input is none of the output."""
        numbers = [name for name, type_ in self._columns if type_ == NUMBER]
        made = [(f"MOD({name}, 3)", NUMBER) for name in numbers] + [(f"{name} + 1", NUMBER) for name in numbers]
        made += [(f"CASE WHEN {name} > 1 THEN 'some' ELSE 'few' END", TEXT) for name in numbers]
        return made + [(f"COALESCE({name}, 'none')", TEXT) for name, type_ in self._columns if type_ == TEXT]

    def calls(self) -> Columns:
        made = [("COUNT(*)", NUMBER)] * 3
        for name, type_ in self._columns:
            made += [(f"COUNT({name})", NUMBER), (f"COUNT(DISTINCT {name})", NUMBER)]
            made += [(f"MIN({name})", type_), (f"MAX({name})", type_)]
            if type_ == NUMBER:
                made += [(f"SUM({name})", NUMBER), (f"SUM(DISTINCT {name})", NUMBER)]
                made += [(f"COUNT(*) FILTER (WHERE {name} > 1)", NUMBER)]
        return made

    def _some(self, columns: Columns, least: int, most: int) -> Columns:
        wanted = self._chance.sample(columns, min(self._chance.randint(least, most), len(columns)))
        return list(dict.fromkeys(wanted))


def _compare(sql: str, type_: str, number: int) -> str:
    return f"{sql} > {number}" if type_ == NUMBER else f"{sql} >= '{'bcd'[number]}'"
