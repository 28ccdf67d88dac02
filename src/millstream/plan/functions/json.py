"""JSON in text: looking into it and making it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.functions.json_path import JsonPath, read_json_path
from millstream.plan.functions.results import bare
from millstream.plan.functions.spark_text import quote
from millstream.sql.functions import (
    ANY,
    TEXT,
    Category,
    Function,
    Given,
    MismatchError,
    Nulls,
    Parameter,
    Signature,
    SparkCall,
    signature,
)
from millstream.sql.types import BOOLEAN, INTEGERS, NESTED, STRING, DataType, TypeRoot

if TYPE_CHECKING:
    from millstream.sql.functions import SparkForm

_MAKERS: Final = ("JSON_OBJECT", "JSON_ARRAY", "JSON")
_RETURNED: Final = {
    TypeRoot.BOOLEAN: "boolean", TypeRoot.INT: "int", TypeRoot.DOUBLE: "double", TypeRoot.STRING: "string",
    TypeRoot.VARCHAR: "string",
}  # fmt: skip
_PLAIN_PATH: Final = (
    "Paths have names and indexes, no wildcards and no filters; a text with a duplicate key is not JSON."
)
_TEXT: Final = Parameter("json", TEXT)
_PATH: Final = Parameter("path", TEXT, literal=True)
_VALUE: Final = Parameter("value", ANY)
_EMPTY, _ERROR = "ON EMPTY", "ON ERROR"


def _path(given: Given) -> JsonPath:
    text = str(given.values[1])
    found = read_json_path(text)
    if found is None:
        raise MismatchError(f"JSON path {quote(text)} contains more than names and indexes")
    return found


def _document(call: SparkCall) -> str:
    return f"try_parse_json({call[0]})"


def _kind(call: SparkCall) -> str:
    """Spark's name for what is at the path: NULL where nothing is, VOID where a JSON null is."""
    return f"schema_of_variant(try_variant_get({_document(call)}, {quote(_path(call.given).spark)}, 'variant'))"


def _behaviour(call: SparkCall, event: str) -> str:
    words = call.given.clauses.get(event, "NULL")
    if event in call.clauses:
        default = call.given.clauses[event]
        assert isinstance(default, DataType)
        return call.cast(call.clauses[event], default, call.result)
    if words == "ERROR":
        return f"CAST(raise_error('JSON: {event.removeprefix('ON ').lower()} at the path') AS {call.type})"
    texts = {"EMPTY ARRAY": "'[]'", "EMPTY OBJECT": "'{}'", "TRUE": "TRUE", "FALSE": "FALSE"}
    return texts.get(str(words), "NULL")


def _missing(call: SparkCall, on_empty: str, on_error: str) -> str:
    """A strict path that leads nowhere is an error; a lax one is empty, unless the text is no JSON at all."""
    return on_error if _path(call.given).is_strict else f"if({_document(call)} IS NULL, {on_error}, {on_empty})"


def _value_type(given: Given) -> DataType:
    _path(given)
    found = given.clauses.get("RETURNING", STRING)
    assert isinstance(found, DataType)
    if found.root not in _RETURNED:
        raise MismatchError(f"JSON_VALUE returns STRING, BOOLEAN, INT or DOUBLE, not {bare(found)}")
    return found


def _value(call: SparkCall) -> str:
    on_empty, on_error = _behaviour(call, _EMPTY), _behaviour(call, _ERROR)
    path, kind = _path(call.given), _kind(call)
    value = f"try_variant_get({_document(call)}, {quote(path.spark)}, '{_RETURNED[call.result.root]}')"
    if (on_empty, on_error) == ("NULL", "NULL"):
        return f"if({kind} RLIKE '^(OBJECT|ARRAY)', NULL, {value})"
    nested = on_error if path.is_strict else on_empty
    return (
        f"CASE WHEN {call[0]} IS NULL THEN NULL WHEN {kind} = 'VOID' THEN {on_empty} "
        f"WHEN {kind} IS NULL THEN {_missing(call, on_empty, on_error)} "
        f"WHEN {kind} LIKE 'OBJECT%' OR {kind} LIKE 'ARRAY%' THEN {nested} ELSE {value} END"
    )


def _query_type(given: Given) -> DataType:
    _path(given)
    found = given.clauses.get("RETURNING", STRING)
    assert isinstance(found, DataType)
    is_list = found.root is TypeRoot.ARRAY and found.element is not None and found.element.root is TypeRoot.STRING
    if not is_list and found.root not in (TypeRoot.STRING, TypeRoot.VARCHAR):
        raise MismatchError(f"JSON_QUERY returns STRING or ARRAY<STRING>, not {bare(found)}")
    return found


def _query(call: SparkCall) -> str:
    path, kind = _path(call.given), _kind(call)
    on_empty, on_error = (_json_array(call, _behaviour(call, event)) for event in (_EMPTY, _ERROR))
    found = f"try_variant_get({_document(call)}, {quote(path.spark)}, 'variant')"
    text = f"if({kind} LIKE 'OBJECT%' OR {kind} LIKE 'ARRAY%', get_json_object({call[0]}, {quote(path.spark)}), to_json({found}))"  # noqa: E501
    wrapped = f"concat('[', {text}, ']')"
    scalar = on_error if path.is_strict else on_empty
    wrapper = call.given.clauses.get("WRAPPER", "WITHOUT")
    taken = {
        "WITHOUT": f"WHEN {kind} RLIKE '^(?!OBJECT|ARRAY)' THEN {scalar} ELSE {_json_array(call, text)}",
        "CONDITIONAL": f"WHEN {kind} LIKE 'ARRAY%' THEN {_json_array(call, text)} ELSE {_json_array(call, wrapped)}",
        "UNCONDITIONAL": f"ELSE {_json_array(call, wrapped)}",
    }
    return (
        f"CASE WHEN {call[0]} IS NULL THEN NULL WHEN {kind} = 'VOID' THEN {on_empty} "
        f"WHEN {kind} IS NULL THEN {_missing(call, on_empty, on_error)} {taken[str(wrapper)]} END"
    )


def _json_array(call: SparkCall, text: str) -> str:
    return f"from_json({text}, 'ARRAY<STRING>')" if call.result.root is TypeRoot.ARRAY and text != "NULL" else text


def _exists(call: SparkCall) -> str:
    kind = _kind(call)
    on_error = _behaviour(call, _ERROR) if _ERROR in call.given.clauses else "FALSE"
    return (
        f"CASE WHEN {call[0]} IS NULL THEN NULL WHEN {kind} IS NOT NULL THEN {kind} <> 'VOID' "
        f"ELSE {_missing(call, 'FALSE', on_error)} END"
    )


def _exists_type(given: Given) -> DataType:
    _path(given)
    return BOOLEAN


def _constructor_type(given: Given) -> DataType:
    """As in Flink, JSON has no form for a time of day."""
    for at, type_ in enumerate(given.types):
        if _holds_time(type_):
            raise MismatchError(f"{bare(type_)} cannot be converted to JSON", "CAST the time to STRING.", at)
    return STRING


def _holds_time(type_: DataType) -> bool:
    inner = (type_.key, type_.element, *(field.type for field in type_.fields))
    return type_.root is TypeRoot.TIME or any(_holds_time(part) for part in inner if part is not None)


def json_text(text: str, type_: DataType) -> str:
    """A value as JSON; NULL stays NULL."""
    if type_.root in INTEGERS or type_.root in (TypeRoot.BOOLEAN, TypeRoot.DECIMAL):
        return f"CAST({text} AS STRING)"
    option = ", map('ignoreNullFields', 'false')" if type_.root in NESTED else ""
    listed = quote(r"^\[|\]$")
    return f"if({text} IS NULL, NULL, regexp_replace(to_json(array({text}){option}), {listed}, ''))"


def _member(call: SparkCall, index: int) -> str:
    if call.made_by[index] in _MAKERS:
        return call[index]
    return json_text(call[index], call.given.types[index])


def _object_type(given: Given) -> DataType:
    if len(given) % 2:
        raise MismatchError("JSON_OBJECT takes keys and values in turn")
    if not all(isinstance(key, str) for key in given.values[::2]):
        raise MismatchError("the keys of JSON_OBJECT must be literals")
    return _constructor_type(given)


def _or_null(member: str) -> str:
    return f"coalesce({member}, 'null')"


def _object(call: SparkCall) -> str:
    members = []
    for i in range(0, len(call.texts), 2):
        key = f"substring(to_json(array({call[i]})), 2, char_length(to_json(array({call[i]}))) - 2)"
        member = _member(call, i + 1)
        absent = call.given.clauses.get("ON NULL", "NULL") == "ABSENT"
        members.append(f"concat({key}, ':', {member if absent else _or_null(member)})")
    return f"concat('{{', concat_ws(','{''.join(f', {text}' for text in members)}), '}}')"


def _array(call: SparkCall) -> str:
    keeps_null = call.given.clauses.get("ON NULL", "ABSENT") == "NULL"
    members = [f", {_or_null(_member(call, i)) if keeps_null else _member(call, i)}" for i in range(len(call.texts))]
    return f"concat('[', concat_ws(','{''.join(members)}), ']')"


def _unquote(call: SparkCall) -> str:
    inner = f"get(from_json(concat('[', {call[0]}, ']'), 'ARRAY<STRING>'), 0)"
    is_quoted = f"{call[0]} RLIKE '(?s)^\".*\"$' AND char_length({call[0]}) > 1"
    return f"if({is_quoted}, coalesce({inner}, {call[0]}), {call[0]})"


def _json(name: str, form: SparkForm, *signatures: Signature, note: str = "", written: str | None = None) -> Function:
    return Function(name, Category.JSON, signatures, form, note=note, written=written, clauses=_CLAUSES.get(name, {}))


_VALUE_WORDS: Final = frozenset({"NULL", "ERROR", "DEFAULT"})
_QUERY_WORDS: Final = frozenset({"NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT"})
_ON_NULL: Final = {"ON NULL": frozenset({"NULL", "ABSENT"})}
_CLAUSES: Final = {
    "JSON_EXISTS": {_ERROR: frozenset({"TRUE", "FALSE", "UNKNOWN", "ERROR"})},
    "JSON_VALUE": {"RETURNING": frozenset({"TYPE"}), _EMPTY: _VALUE_WORDS, _ERROR: _VALUE_WORDS},
    "JSON_QUERY": {
        "RETURNING": frozenset({"TYPE"}),
        "WRAPPER": frozenset({"WITHOUT", "CONDITIONAL", "UNCONDITIONAL"}),
        _EMPTY: _QUERY_WORDS,
        _ERROR: _QUERY_WORDS,
    },
    "JSON_OBJECT": _ON_NULL,
    "JSON_ARRAY": _ON_NULL,
}
_ON: Final = "[… ON EMPTY] [… ON ERROR]"

FUNCTIONS: Final = (
    _json(
        "JSON_EXISTS", _exists, signature(_TEXT, _PATH, gives=(_exists_type, "BOOLEAN"), nulls=Nulls.ALWAYS),
        note=_PLAIN_PATH,
        written="JSON_EXISTS(json, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])",
    ),
    _json(
        "JSON_VALUE", _value, signature(_TEXT, _PATH, gives=(_value_type, "STRING"), nulls=Nulls.ALWAYS),
        note=_PLAIN_PATH,
        written=f"JSON_VALUE(json, path [RETURNING type] {_ON})",
    ),
    _json(
        "JSON_QUERY", _query, signature(_TEXT, _PATH, gives=(_query_type, "STRING"), nulls=Nulls.ALWAYS),
        note=_PLAIN_PATH,
        written=f"JSON_QUERY(json, path [RETURNING type] [WITH … WRAPPER] {_ON})",
    ),
    _json(
        "JSON_STRING", lambda call: json_text(call[0], call.given.types[0]),
        signature(_VALUE, gives=(_constructor_type, "STRING")),
        note="Timestamps have three fraction digits at least.",
    ),
    _json(
        "JSON_OBJECT", _object,
        signature(
            Parameter("key"), _VALUE, gives=(_object_type, "STRING"), optional=2, repeats=True, nulls=Nulls.NEVER
        ),
        written="JSON_OBJECT([[KEY] key VALUE value, …] [{NULL | ABSENT} ON NULL])",
    ),
    _json(
        "JSON_ARRAY", _array,
        signature(_VALUE, gives=(_constructor_type, "STRING"), optional=1, repeats=True, nulls=Nulls.NEVER),
        written="JSON_ARRAY([value, …] [{NULL | ABSENT} ON NULL])",
    ),
    _json(
        "JSON", "to_json(parse_json(nullif(trim({0}), '')))", signature(_TEXT, gives=STRING, nulls=Nulls.ALWAYS),
        note="Keys come in alphabetical order.",
    ),
    _json(
        "JSON_QUOTE", lambda call: json_text(call[0], STRING), signature(_TEXT, gives=STRING),
        note="Characters beyond ASCII stay as they are; Flink writes them as \\uXXXX.",
    ),
    _json("JSON_UNQUOTE", _unquote, signature(_TEXT, gives=STRING)),
)  # fmt: skip
