"""Functions on text."""

from __future__ import annotations

import re
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, Final

from millstream.plan.functions.patterns import regex_problem
from millstream.plan.functions.results import common, varying
from millstream.plan.functions.spark_text import quote, valid_text
from millstream.sql.functions import (
    ANY,
    BYTES,
    INTEGER,
    TEXT,
    TEXT_OR_BYTES,
    Category,
    Function,
    Nulls,
    Parameter,
    Signature,
    SparkCall,
    signature,
    word,
)
from millstream.sql.types import BIGINT, BOOLEAN, INT, STRING, DataType, TypeRoot
from millstream.sql.types import BYTES as BYTES_TYPE

if TYPE_CHECKING:
    from millstream.sql.functions import SparkForm

_TEXT: Final = Parameter("text", TEXT)
_PART: Final = Parameter("part", TEXT)
_CHARACTERS: Final = Parameter("characters", TEXT)
_COUNT: Final = Parameter("count", INTEGER, INT)
_REGEX: Final = Parameter("regex", TEXT, problem=regex_problem)
_GROUP: Final = Parameter("group", INTEGER, INT)
_STRINGS: Final = DataType(TypeRoot.ARRAY, element=STRING)
_STRING_MAP: Final = DataType(TypeRoot.MAP, key=STRING, element=STRING)
_ONE_BACKSLASH: Final = quote("\\")
_TWO_BACKSLASHES: Final = quote("\\\\")
_DOLLAR: Final = quote("\\$")
_QUOTE, _END_QUOTE = quote("\\Q"), quote("\\E")
# Spark ignores blanks in Base64, and Flink fails: another character that is not Base64 makes Spark fail too.
_BASE64: Final = f"regexp_replace(CAST({{0}} AS STRING), {quote(chr(92) + 's')}, '*')"
_FAULTY_REGEX: Final = "An unreadable regular expression is refused or fails the job; in Flink the result is NULL."


def _text(name: str, form: SparkForm, *signatures: Signature, note: str = "", **options: str) -> Function:
    return Function(name, Category.STRING, signatures, form, note=note, written=options.get("written"))


def _gives(
    result: DataType, *parameters: Parameter, optional: int = 0, nulls: Nulls = Nulls.FROM_ARGUMENTS
) -> Signature:
    return signature(*parameters, gives=result, optional=optional, nulls=nulls)


def _trim(call: SparkCall) -> str:
    if len(call.given) == 1:
        return f"trim({call[0]})"
    return f"trim({call.given.values[0]} {call[1]} FROM {call[2]})"


def _trim_side(side: str) -> SparkForm:
    def spark(call: SparkCall) -> str:
        characters = call[1] if len(call.given) > 1 else "' '"
        return f"trim({side} {characters} FROM {call[0]})"

    return spark


def _is_natural(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def _substring(call: SparkCall) -> str:
    """A start before the text gives nothing; Spark would count on into it."""
    has_length = len(call.given) > 2  # noqa: PLR2004
    plain = f"substring({', '.join(call.texts)})"
    if all(_is_natural(value) for value in call.given.values[1:]):
        return plain
    negative = f"WHEN {call[2]} < 0 THEN NULL " if has_length else ""
    return f"CASE {negative}WHEN {call[1]} < -char_length({call[0]}) THEN '' ELSE {plain} END"


def _overlay(call: SparkCall) -> str:
    length = call[3] if len(call.given) > 3 else f"char_length({call[1]})"  # noqa: PLR2004
    text, other, start = call.texts[:3]
    return (
        f"CASE WHEN {start} <= 0 OR {start} > char_length({text}) THEN {text} "
        f"WHEN {length} <= 0 THEN concat(substring({text}, 1, {start} - 1), {other}) "
        f"ELSE overlay({text} PLACING {other} FROM {start} FOR {length}) END"
    )


def _replace(call: SparkCall) -> str:
    """The replacement is taken as it is: in Spark, `$1` in it would be a group."""
    replacement = call.given.values[2]
    if isinstance(replacement, str):
        plain = quote(replacement.replace("\\", "\\\\").replace("$", "\\$"))
    else:
        plain = f"replace(replace({call[2]}, {_ONE_BACKSLASH}, {_TWO_BACKSLASHES}), '$', {_DOLLAR})"
    return f"regexp_replace({call[0]}, {call[1]}, {plain})"


def _extract(call: SparkCall) -> str:
    group = call[2] if len(call.given) > 2 else "0"  # noqa: PLR2004
    return f"CASE WHEN regexp_like({call[0]}, {call[1]}) THEN regexp_extract({call[0]}, {call[1]}, {group}) END"


def _matches(call: SparkCall) -> str:
    found = f"regexp_like({call[0]}, {call[1]})"
    return found if call.given.values[1] else f"if({call[1]} = '', {call[0]} IS NULL AND NULL, {found})"


def as_regex(call: SparkCall, index: int) -> str:
    """A separator as a regular expression that matches it and nothing else."""
    separator = call.given.values[index]
    if isinstance(separator, str):
        return quote(re.sub(r"([\\.\[\]{}()*+?^$|\-])", r"\\\1", separator))
    return f"if({call[index]} = '', '', concat({_QUOTE}, {call[index]}, {_END_QUOTE}))"


def _split_index(call: SparkCall) -> str:
    if call.given.types[1].root in INTEGER.roots:
        pieces = f"split({call[0]}, concat({_QUOTE}, chr({call[1]}), {_END_QUOTE}))"
        return f"CASE WHEN {call[0]} <> '' AND {call[1]} BETWEEN 1 AND 255 THEN get({pieces}, {call[2]}) END"
    return f"CASE WHEN {call[0]} <> '' THEN get(split({call[0]}, {as_regex(call, 1)}), {call[2]}) END"


def _capitalise(call: SparkCall) -> str:
    """Words are of ASCII letters and digits, and no other letter changes; Spark's begin after blanks."""
    lower, upper = quote(ascii_lowercase), quote(ascii_uppercase)
    words = f"regexp_extract_all(translate({call[0]}, {upper}, {lower}), '[a-z0-9]+|[^a-z0-9]+', 0)"
    capital = f"concat(translate(left(millstream_word, 1), {lower}, {upper}), substring(millstream_word, 2))"
    return f"array_join(transform({words}, millstream_word -> {capital}), '')"


def _pad(name: str) -> str:
    return f"CASE WHEN {{1}} >= 0 AND {{2}} <> '' THEN {name}({{0}}, {{1}}, {{2}}) END"


def _string_map(call: SparkCall) -> str:
    pairs, values = (call[1], call[2]) if len(call.given) > 1 else ("','", "'='")
    return f"if({call[0]} = '', CAST(map() AS {call.type}), str_to_map({call[0]}, {pairs}, {values}))"


def _choose(call: SparkCall) -> str:
    choices = ", ".join(call.as_type(i, call.result) for i in range(1, len(call.texts)))
    return f"get(array({choices}), CAST({call[0]} - 1 AS INT))"


_PAD: Final = _gives(STRING, _TEXT, Parameter("length", INTEGER, INT), Parameter("pad", TEXT), nulls=Nulls.ALWAYS)
_TRIM: Final = signature(_TEXT, _CHARACTERS, gives=(varying, "STRING"), optional=1)
_START, _LENGTH = Parameter("start", INTEGER, INT), Parameter("length", INTEGER, INT)
_SUBSTRING: Final = signature(_TEXT, _START, _LENGTH, gives=(varying, "STRING"), optional=1, nulls=Nulls.ALWAYS)
_PREFIX: Final = (
    _gives(BOOLEAN, _TEXT, _PART),
    _gives(BOOLEAN, Parameter("bytes", BYTES), Parameter("part", BYTES)),
)
_ENDS: Final = signature(_TEXT, Parameter("length", INTEGER, INT), gives=(varying, "STRING"), nulls=Nulls.ALWAYS)

FUNCTIONS: Final = (
    _text("||", "({0} || {1})", _gives(STRING, _TEXT, Parameter("other", TEXT)), written="text || text"),
    _text("CHAR_LENGTH", "char_length({0})", _gives(INT, _TEXT)),
    _text("CHARACTER_LENGTH", "char_length({0})", _gives(INT, _TEXT)),
    _text("UPPER", "upper({0})", _gives(STRING, _TEXT)),
    _text("LOWER", "lower({0})", _gives(STRING, _TEXT)),
    _text("POSITION", "locate({0}, {1})", _gives(INT, _PART, _TEXT), written="POSITION(part IN text)"),
    _text("LOCATE", "locate({rest})", _gives(INT, _PART, _TEXT, Parameter("from", INTEGER, INT), optional=1)),
    _text("INSTR", "instr({0}, {1})", _gives(INT, _TEXT, _PART), note="Takes no start position and no count."),
    _text(
        "TRIM", _trim, signature(_TEXT, gives=(varying, "STRING")),
        signature(
            word("side", "BOTH", "LEADING", "TRAILING"), _CHARACTERS, _TEXT,
            gives=(lambda given: varying(given, 2), "STRING"),
        ),
        written="TRIM([BOTH | LEADING | TRAILING] [[characters] FROM] text)",
    ),
    _text("LTRIM", _trim_side("LEADING"), _TRIM),
    _text("RTRIM", _trim_side("TRAILING"), _TRIM),
    _text("BTRIM", _trim_side("BOTH"), _TRIM),
    _text("REPEAT", "repeat({0}, {1})", _gives(STRING, _TEXT, _COUNT)),
    _text(
        "OVERLAY", _overlay, _gives(STRING, _TEXT, Parameter("other", TEXT), _START, _LENGTH, optional=1),
        written="OVERLAY(text PLACING other FROM start [FOR length])",
    ),
    _text("SUBSTRING", _substring, _SUBSTRING, written="SUBSTRING(text FROM start [FOR length])"),
    _text("SUBSTR", _substring, _SUBSTRING),
    _text("LEFT", "left({0}, {1})", _ENDS),
    _text("RIGHT", "right({0}, {1})", _ENDS),
    _text(
        "REPLACE", "replace({0}, {1}, {2})", _gives(STRING, _TEXT, _PART, Parameter("other", TEXT)),
        note="An empty part is found nowhere; in Flink it is found between all characters.",
    ),
    _text("TRANSLATE", "translate({0}, {1}, {2})", _gives(STRING, _TEXT, _CHARACTERS, Parameter("others", TEXT))),
    _text("INITCAP", _capitalise, _gives(STRING, _TEXT)),
    _text("CONCAT", "concat({rest})", signature(_TEXT, gives=STRING, repeats=True)),
    _text(
        "CONCAT_WS", "concat_ws({rest})",
        signature(Parameter("separator", TEXT), _TEXT, gives=STRING, optional=1, repeats=True),
    ),
    _text("LPAD", _pad("lpad"), _PAD),
    _text("RPAD", _pad("rpad"), _PAD),
    _text("STARTSWITH", "startswith({0}, {1})", *_PREFIX),
    _text("ENDSWITH", "endswith({0}, {1})", *_PREFIX),
    _text("REVERSE", "reverse({0})", _gives(STRING, _TEXT, nulls=Nulls.ALWAYS)),
    _text("ASCII", "ascii({0})", _gives(INT, _TEXT), note="Of a character beyond ASCII, its Unicode number."),
    _text("CHR", "chr({0})", _gives(STRING, Parameter("code", INTEGER, BIGINT), nulls=Nulls.ALWAYS)),
    _text("REGEXP", _matches, _gives(BOOLEAN, _TEXT, _REGEX), note=_FAULTY_REGEX.replace("NULL", "FALSE")),
    _text("REGEXP_REPLACE", _replace, _gives(STRING, _TEXT, _REGEX, Parameter("other", TEXT)), note=_FAULTY_REGEX),
    _text(
        "REGEXP_EXTRACT", _extract, _gives(STRING, _TEXT, _REGEX, _GROUP, optional=1, nulls=Nulls.ALWAYS),
        note=f"{_FAULTY_REGEX} So does a group that the expression does not have.",
    ),
    _text(
        "REGEXP_EXTRACT_ALL", "regexp_extract_all({rest})",
        _gives(_STRINGS, _TEXT, _REGEX, _GROUP, optional=1, nulls=Nulls.ALWAYS), note=_FAULTY_REGEX,
    ),
    _text("REGEXP_COUNT", "regexp_count({0}, {1})", _gives(INT, _TEXT, _REGEX), note=_FAULTY_REGEX),
    _text("REGEXP_INSTR", "regexp_instr({0}, {1})", _gives(INT, _TEXT, _REGEX), note=_FAULTY_REGEX),
    _text(
        "REGEXP_SUBSTR", "regexp_substr({0}, {1})", _gives(STRING, _TEXT, _REGEX, nulls=Nulls.ALWAYS),
        note=_FAULTY_REGEX,
    ),
    _text(
        "SPLIT_INDEX", _split_index,
        _gives(STRING, _TEXT, Parameter("separator", TEXT), Parameter("index", INTEGER, INT), nulls=Nulls.ALWAYS),
        _gives(
            STRING, _TEXT, Parameter("code", INTEGER, BIGINT), Parameter("index", INTEGER, INT), nulls=Nulls.ALWAYS
        ),
    ),
    _text(
        "SPLIT", lambda call: f"split({call[0]}, {as_regex(call, 1)})",
        _gives(_STRINGS, _TEXT, Parameter("separator", TEXT)),
    ),
    _text(
        "STR_TO_MAP", _string_map, _gives(_STRING_MAP, _TEXT),
        _gives(_STRING_MAP, _TEXT, Parameter("pairs", TEXT), Parameter("values", TEXT)),
    ),
    _text(
        "ELT", _choose,
        signature(
            Parameter("index", INTEGER, BIGINT), Parameter("choice", TEXT_OR_BYTES),
            gives=(common(1), "the choices' type"), repeats=True, nulls=Nulls.ALWAYS,
        ),
    ),
    _text(
        "PARSE_URL", "try_parse_url({rest})",
        _gives(STRING, _TEXT, Parameter("what", TEXT), Parameter("key", TEXT), optional=1, nulls=Nulls.ALWAYS),
        note="An address that is not a URI by RFC 2396 gives NULL.",
    ),
    _text("URL_DECODE", "try_url_decode({0})", _gives(STRING, _TEXT, nulls=Nulls.ALWAYS)),
    _text("URL_ENCODE", "url_encode({0})", _gives(STRING, _TEXT, nulls=Nulls.ALWAYS)),
    _text("ENCODE", "encode({0}, {1})", _gives(BYTES_TYPE, _TEXT, Parameter("charset", TEXT))),
    _text("DECODE", "decode({0}, {1})", _gives(STRING, Parameter("bytes", BYTES), Parameter("charset", TEXT))),
    _text(
        "TO_BASE64", r"replace(base64(CAST({0} AS BINARY)), '\r\n', '')",
        _gives(STRING, Parameter("text", TEXT_OR_BYTES)),
    ),
    _text(
        "FROM_BASE64", valid_text(f"CAST(to_binary({_BASE64}, 'base64') AS STRING)"),
        _gives(STRING, Parameter("text", TEXT_OR_BYTES)),
    ),
    _text(
        "PRINTF", "format_string({rest})",
        signature(Parameter("format", TEXT), Parameter("value", ANY), gives=STRING, optional=1, repeats=True),
        note="A format that does not fit its values fails the job; in Flink the result is NULL.",
    ),
)  # fmt: skip

_HASHES: Final = {
    "MD5": (32, "md5({0})"),
    "SHA1": (40, "sha1({0})"),
    "SHA224": (56, "sha2({0}, 224)"),
    "SHA256": (64, "sha2({0}, 256)"),
    "SHA384": (96, "sha2({0}, 384)"),
    "SHA512": (128, "sha2({0}, 512)"),
}
_HASHED: Final = Parameter("text", TEXT_OR_BYTES, BYTES_TYPE)

HASHES: Final = (
    *(
        Function(name, Category.HASH, (signature(_HASHED, gives=DataType(TypeRoot.CHAR, precision=length)),), form)
        for name, (length, form) in _HASHES.items()
    ),
    Function(
        "SHA2",
        Category.HASH,
        (signature(_HASHED, Parameter("bits", INTEGER, INT), gives=DataType(TypeRoot.VARCHAR, precision=128)),),
        "sha2({0}, {1})",
    ),
)
