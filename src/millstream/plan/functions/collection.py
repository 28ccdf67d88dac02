"""Arrays, maps and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.functions.results import array_of, bare, common, common_type, element, same_as
from millstream.plan.functions.spark_text import quote, to_common_type
from millstream.sql.functions import (
    ARRAY,
    COLLECTION,
    CONDITION,
    INTEGER,
    MAP,
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
from millstream.sql.types import BOOLEAN, INT, STRING, DataType, Field, TypeRoot

if TYPE_CHECKING:
    from millstream.sql.functions import ResultRule, SparkForm

_ARRAY: Final = Parameter("array", ARRAY)
_OTHER: Final = Parameter("other", ARRAY)
_MAP: Final = Parameter("map", MAP)
_ELEMENT: Final = Parameter("element")
_SAME: Final = "the array's type"


def _make(name: str, form: SparkForm, *signatures: Signature, note: str = "", written: str | None = None) -> Function:
    return Function(name, Category.COLLECTION, signatures, form, note=note, written=written)


def _array(call: SparkCall) -> str:
    assert call.result.element is not None
    return f"array({', '.join(call.as_type(i, call.result.element) for i in range(len(call.texts)))})"


def _map_type(given: Given) -> DataType:
    if len(given) % 2:
        raise MismatchError("MAP takes keys and values in turn, and the last key has no value")
    return DataType(TypeRoot.MAP, key=common_type(given.types[::2]), element=common_type(given.types[1::2]))


def _map(call: SparkCall) -> str:
    key, value = call.result.key, call.result.element
    assert key is not None
    assert value is not None
    texts = (call.as_type(i, value if i % 2 else key) for i in range(len(call.texts)))
    return f"map({', '.join(texts)})"


def _row_type(given: Given) -> DataType:
    return DataType(TypeRoot.ROW, fields=tuple(Field(f"EXPR${i}", type_) for i, type_ in enumerate(given.types)))


def _row(call: SparkCall) -> str:
    fields = (f"{quote(field.name)}, {text}" for field, text in zip(call.result.fields, call.texts, strict=True))
    return f"named_struct({', '.join(fields)})"


def _item_type(given: Given) -> DataType:
    collection, key = given.types
    if collection.root is TypeRoot.MAP and collection.key is not None:
        common_type((collection.key, key))
    elif key.root not in INTEGER.roots | {TypeRoot.NULL}:
        raise MismatchError(f"the index of an array must be an INTEGER, not {bare(key)}")
    return element(given)


def _item(call: SparkCall) -> str:
    """Counted from one; what is not there is NULL."""
    collection = call.given.types[0]
    if collection.root is TypeRoot.MAP:
        assert collection.key is not None
        return f"try_element_at({call[0]}, {call.as_type(1, collection.key)})"
    return f"get({call[0]}, CAST({call[1]} - 1 AS INT))"


def _with_element(given: Given) -> DataType:
    array, other = given.types
    return DataType(TypeRoot.ARRAY, element=common_type((array.element or other, other)))


def _push(name: str) -> SparkForm:
    def spark(call: SparkCall) -> str:
        assert call.result.element is not None
        return f"{name}({call.as_type(0, call.result)}, {call.as_type(1, call.result.element)})"

    return spark


def _both(form: str) -> SparkForm:
    """On the array and an element, both of the type that they have in common."""

    def spark(call: SparkCall) -> str:
        array = _with_element(call.given)
        assert array.element is not None
        return form.format(call.as_type(0, array), call.as_type(1, array.element))

    return spark


def _check(result: DataType) -> tuple[ResultRule, str]:
    def rule(given: Given) -> DataType:
        _with_element(given)
        return result

    return rule, str(result)


def _without(given: Given) -> DataType:
    _with_element(given)
    return given.types[0]


def _sole(call: SparkCall) -> str:
    several = "raise_error('ELEMENT: the array has more than one element')"
    return f"CASE WHEN size({call[0]}) <= 1 THEN get({call[0]}, 0) WHEN {call[0]} IS NOT NULL THEN {several} END"


def _slice(call: SparkCall) -> str:
    """Places count from one, negative ones from the end; both ends are part of the slice."""
    size = f"size({call[0]})"

    def place(text: str) -> str:
        return f"if({text} < 0, {size} + {text} + 1, {text})"

    start = f"greatest({place(call[1])}, 1)"
    end = f"least({place(call[2])}, {size})" if len(call.given) > 2 else size  # noqa: PLR2004
    missing = " OR ".join(f"{text} IS NULL" for text in call.texts)
    return f"if({missing}, NULL, slice({call[0]}, {start}, greatest({end} - {start} + 1, 0)))"


def _sort(call: SparkCall) -> str:
    ascending = call.given.values[1] if len(call.given) > 1 else True
    nulls_first = call.given.values[2] if len(call.given) > 2 else ascending  # noqa: PLR2004
    if None in (ascending, nulls_first):
        return f"CAST(NULL AS {call.type})"
    if ascending == nulls_first:
        return f"sort_array({call[0]}, {ascending})"
    return f"array_sort({call[0]})" if ascending else f"reverse(array_sort({call[0]}))"


def _join(call: SparkCall) -> str:
    replacement = f", {call[2]}" if len(call.given) > 2 else ""  # noqa: PLR2004
    return f"array_join({call[0]}, {call[1]}{replacement})"


def _map_union(call: SparkCall) -> str:
    """PartlySupported maps win; Spark refuses a key that two of them have."""
    merged = call.as_type(0, call.result)
    for i in range(1, len(call.texts)):
        later = call.as_type(i, call.result)
        kept = f"(millstream_key, millstream_value) -> NOT map_contains_key({later}, millstream_key)"
        merged = f"map_concat(map_filter({merged}, {kept}), {later})"
    return merged


def _keys(given: Given) -> DataType:
    return DataType(TypeRoot.ARRAY, element=given.types[0].key)


def _values(given: Given) -> DataType:
    return DataType(TypeRoot.ARRAY, element=given.types[0].element)


def _entries(given: Given) -> DataType:
    key, value = given.types[0].key, given.types[0].element
    assert key is not None
    assert value is not None
    return DataType(TypeRoot.ARRAY, element=DataType(TypeRoot.ROW, fields=(Field("key", key), Field("value", value))))


def _zip_type(given: Given) -> DataType:
    keys, values = given.types
    return DataType(TypeRoot.MAP, key=keys.element, element=values.element)


def _text_elements(given: Given) -> DataType:
    found = given.types[0].element
    if found is not None and found.root not in TEXT.roots:
        raise MismatchError(f"ARRAY_JOIN takes an array of STRING, not {bare(given.types[0])}")
    return STRING


_SET: Final = signature(_ARRAY, _OTHER, gives=(common(), _SAME))
_ITEM: Final = signature(
    Parameter("collection", ARRAY), Parameter("index"), gives=(_item_type, "the element's type"), nulls=Nulls.ALWAYS
)
_VALUE_OF: Final = signature(_MAP, Parameter("key"), gives=(_item_type, "the value's type"), nulls=Nulls.ALWAYS)
_CONTAINS: Final = (
    "CASE WHEN {0} IS NULL THEN NULL WHEN {1} IS NULL THEN exists({0}, millstream_item -> millstream_item IS NULL) "
    "ELSE coalesce(array_contains({0}, {1}), FALSE) END"
)

FUNCTIONS: Final = (
    _make("ARRAY", _array, signature(_ELEMENT, gives=(array_of(common()), "ARRAY"), repeats=True, nulls=Nulls.NEVER),
          written="ARRAY[value, …]"),
    _make("MAP", _map, signature(Parameter("key"), Parameter("value"), gives=(_map_type, "MAP"), repeats=True,
                                 nulls=Nulls.NEVER),
          written="MAP[key, value, …]"),
    _make("ROW", _row, signature(_ELEMENT, gives=(_row_type, "ROW"), repeats=True, nulls=Nulls.NEVER),
          written="ROW(value, …) or (value, value, …)"),
    _make("[]", _item, _ITEM, _VALUE_OF, written="array[index], map[key], row['field'], row[number]",
          note="An index below one gives NULL, as one beyond the end does."),
    _make("CARDINALITY", "size({0})", signature(Parameter("collection", COLLECTION), gives=INT)),
    _make("ELEMENT", _sole, signature(_ARRAY, gives=(element, "the element's type"), nulls=Nulls.ALWAYS)),
    _make("ARRAY_APPEND", _push("array_append"), signature(_ARRAY, _ELEMENT, gives=(_with_element, _SAME))),
    _make("ARRAY_PREPEND", _push("array_prepend"), signature(_ARRAY, _ELEMENT, gives=(_with_element, _SAME))),
    _make("ARRAY_CONTAINS", _both(_CONTAINS), signature(_ARRAY, _ELEMENT, gives=_check(BOOLEAN))),
    _make("ARRAY_DISTINCT", "array_distinct({0})", signature(_ARRAY, gives=(same_as(0), _SAME))),
    _make("ARRAY_POSITION", _both("CAST(array_position({0}, {1}) AS INT)"),
          signature(_ARRAY, _ELEMENT, gives=_check(INT))),
    _make("ARRAY_REMOVE", _both("filter({0}, millstream_item -> NOT (millstream_item <=> {1}))"),
          signature(_ARRAY, _ELEMENT, gives=(_without, _SAME))),
    _make("ARRAY_REVERSE", "reverse({0})", signature(_ARRAY, gives=(same_as(0), _SAME))),
    _make("ARRAY_SLICE", _slice,
          signature(_ARRAY, Parameter("start", INTEGER, INT), Parameter("end", INTEGER, INT),
                    gives=(same_as(0), _SAME), optional=1)),
    _make("ARRAY_SORT", _sort,
          signature(_ARRAY, Parameter("ascending", CONDITION, literal=True),
                    Parameter("nulls_first", CONDITION, literal=True), gives=(same_as(0), _SAME), optional=2),
          note="The flags must be literals."),
    _make("ARRAY_UNION", to_common_type("array_union({rest})"), _SET),
    _make("ARRAY_EXCEPT", to_common_type("array_except({rest})"), _SET),
    _make("ARRAY_INTERSECT", to_common_type("array_intersect({rest})"), _SET),
    _make("ARRAY_CONCAT", to_common_type("concat({rest})"), signature(_ARRAY, gives=(common(), _SAME), repeats=True)),
    _make("ARRAY_MAX", "array_max({0})", signature(_ARRAY, gives=(element, "the element's type"), nulls=Nulls.ALWAYS)),
    _make("ARRAY_MIN", "array_min({0})", signature(_ARRAY, gives=(element, "the element's type"), nulls=Nulls.ALWAYS)),
    _make("ARRAY_JOIN", _join,
          signature(_ARRAY, Parameter("separator", TEXT), Parameter("null_text", TEXT),
                    gives=(_text_elements, "STRING"), optional=1)),
    _make("MAP_KEYS", "map_keys({0})", signature(_MAP, gives=(_keys, "ARRAY"))),
    _make("MAP_VALUES", "map_values({0})", signature(_MAP, gives=(_values, "ARRAY"))),
    _make("MAP_ENTRIES", "map_entries({0})", signature(_MAP, gives=(_entries, "ARRAY<ROW<key, value>>"))),
    _make("MAP_FROM_ARRAYS", "map_from_arrays({0}, {1})",
          signature(Parameter("keys", ARRAY), Parameter("values", ARRAY), gives=(_zip_type, "MAP"))),
    _make("MAP_UNION", _map_union, signature(_MAP, gives=(common(), "the maps' type"), repeats=True)),
)  # fmt: skip
