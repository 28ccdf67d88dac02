"""`avro-confluent` and `debezium-avro-confluent`: Avro with schemas in a registry."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.options import ConfigOption, one_of, text
from millstream.changelog import ALL_CHANGES, INSERT_ONLY, ChangelogMode
from millstream.errors import Code
from millstream.formats.avro_format import NOT_UTF_8
from millstream.formats.avro_schema import avro_schema, debezium_schema, same_shape
from millstream.formats.avro_types import not_in_avro, not_in_legacy_avro
from millstream.formats.declaration import DeclaredUse, FormatDeclaration

if TYPE_CHECKING:
    from millstream.sql.types import DataType


class BasicAuthSource(StrEnum):
    URL = "URL"
    USER_INFO = "USER_INFO"


class BearerAuthSource(StrEnum):
    STATIC_TOKEN = "STATIC_TOKEN"  # noqa: S105 - the name of a way, not a token


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """Certificates are in PEM files."""

    url: str
    keystore_location: str | None = None
    keystore_password: str | None = None
    truststore_location: str | None = None
    basic_auth_source: BasicAuthSource | None = None
    basic_auth_user: str | None = None
    bearer_auth_token: str | None = None


@dataclass(frozen=True, slots=True)
class ConfluentOptions:
    registry: RegistryOptions
    subject: str | None = None
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class ConfluentAvroFormat:
    options: ConfluentOptions
    name: str
    changelog: ChangelogMode

    def with_default_subject(self, subject: str) -> ConfluentAvroFormat:
        """The subject that a Kafka sink with a single topic implies: `<topic>-key` or `<topic>-value`."""
        if self.options.subject is not None:
            return self
        return replace(self, options=replace(self.options, subject=subject))


def key_values(value: str) -> tuple[tuple[str, str], ...]:
    """`a:1,b:2`."""
    pairs = [part.split(":", 1) for part in value.split(",") if part.strip()]
    if any(len(pair) != 2 for pair in pairs):  # noqa: PLR2004
        raise ValueError("the value does not follow the form key:value,key:value")
    found = tuple((key.strip(), item.strip()) for key, item in pairs)
    for key, item in found:
        if key in _JAVA_KEYS:
            _JAVA_KEYS[key].parse(item)
    return found


def schema_text(value: str) -> str:
    try:
        schema = json.loads(value)
    except ValueError:
        raise ValueError("the value is not JSON") from None
    if not isinstance(schema, (dict, list)):
        raise ValueError("the value is not the schema of a record")  # noqa: TRY004
    return value


URL: Final = ConfigOption("url", text, "The address of the schema registry, e.g. 'http://localhost:8081'.")
SUBJECT: Final = ConfigOption(
    "subject", text, "The subject under which the schema is registered; '<topic>-value' or '<topic>-key' if left out."
)
SCHEMA: Final = ConfigOption(
    "schema", schema_text, "The schema to use; it must match the table. It follows from the table otherwise."
)
KEYSTORE_LOCATION: Final = ConfigOption(
    "ssl.keystore.location", text, "The PEM file with the client's key and certificate."
)
KEYSTORE_PASSWORD: Final = ConfigOption(
    "ssl.keystore.password", str, "The password of the key in that file.", is_secret=True
)
TRUSTSTORE_LOCATION: Final = ConfigOption("ssl.truststore.location", text, "The PEM file with certificates to trust.")
BASIC_AUTH_SOURCE: Final = ConfigOption(
    "basic-auth.credentials-source",
    one_of(BasicAuthSource),
    "Where the user and password come from: USER_INFO, the option for it, or URL, the address.",
)
BASIC_AUTH_USER: Final = ConfigOption(
    "basic-auth.user-info", text, "User and password, as 'user:password'.", is_secret=True
)
BEARER_AUTH_SOURCE: Final = ConfigOption(
    "bearer-auth.credentials-source", one_of(BearerAuthSource), "Where the token comes from: STATIC_TOKEN."
)
BEARER_AUTH_TOKEN: Final = ConfigOption("bearer-auth.token", text, "The token.", is_secret=True)
PROPERTIES: Final[ConfigOption[tuple[tuple[str, str], ...]]] = ConfigOption(
    "properties",
    key_values,
    "The same for TLS and authentication under the keys of the registry's Java client, as 'key:value,…'.",
    (),
    is_secret=True,
)

_OPTIONS: Final[tuple[ConfigOption[Any], ...]] = (
    URL, SUBJECT, SCHEMA, KEYSTORE_LOCATION, KEYSTORE_PASSWORD, TRUSTSTORE_LOCATION, BASIC_AUTH_SOURCE,
    BASIC_AUTH_USER, BEARER_AUTH_SOURCE, BEARER_AUTH_TOKEN, PROPERTIES,
)  # fmt: skip
_JAVA_KEYS: Final[dict[str, ConfigOption[Any]]] = {
    "schema.registry.ssl.keystore.location": KEYSTORE_LOCATION,
    "schema.registry.ssl.keystore.password": KEYSTORE_PASSWORD,
    "schema.registry.ssl.truststore.location": TRUSTSTORE_LOCATION,
    "basic.auth.credentials.source": BASIC_AUTH_SOURCE,
    "basic.auth.user.info": BASIC_AUTH_USER,
    "bearer.auth.credentials.source": BEARER_AUTH_SOURCE,
    "bearer.auth.token": BEARER_AUTH_TOKEN,
}
_WITHOUT_EFFECT: Final = (
    ("ssl.truststore.password", "Certificates to trust are read from a PEM file, which has no password."),
)
_OLDER_KEYS: Final = tuple((f"schema-registry.{option.key}", option.key) for option in (URL, SUBJECT, SCHEMA))


def _why_unsupported(type_: DataType) -> str | None:
    return not_in_avro(type_) or not_in_legacy_avro(type_)


def _has_an_address(use: DeclaredUse) -> None:
    if use.values[URL.key] is None:
        use.report_use(
            Code.MISSING_OPTION,
            f"table \"{use.reader.table.name}\" needs option '{use.under}{URL.key}'",
            hint=f"Add '{use.under}{URL.key}' = '…'. {URL.doc}",
        )


def _schema_says_the_same(use: DeclaredUse) -> None:
    declared = use.values[SCHEMA.key]
    if declared is None or not use.columns:
        return
    columns = [(column.name, column.type) for column in use.columns]
    changes = use.under.endswith("debezium-avro-confluent.")
    derived = debezium_schema(columns) if changes else avro_schema(columns)
    if not same_shape(json.loads(declared), derived):
        needs = (
            "a nullable record with the fields 'before', 'after' and 'op', whose rows have"
            if changes
            else "a record with"
        )
        use.report(
            Code.CONFLICTING_OPTIONS,
            f"the schema of option '{use.under}{SCHEMA.key}' does not match the table",
            SCHEMA,
            detail=f"It must be {needs} the table's columns: {json.dumps(derived)}.",
        )


def _registry(values: dict[str, Any]) -> RegistryOptions:
    # The option itself takes precedence over the same one among the properties.
    options = {
        _JAVA_KEYS[key].key: _JAVA_KEYS[key].parse(value) for key, value in values[PROPERTIES.key] if key in _JAVA_KEYS
    }
    options |= {key: value for key, value in values.items() if value is not None}
    return RegistryOptions(
        options.get(URL.key, ""),
        options.get(KEYSTORE_LOCATION.key),
        options.get(KEYSTORE_PASSWORD.key),
        options.get(TRUSTSTORE_LOCATION.key),
        options.get(BASIC_AUTH_SOURCE.key),
        options.get(BASIC_AUTH_USER.key),
        options.get(BEARER_AUTH_TOKEN.key),
    )


def _declaration(identifier: str, doc: str, changelog: ChangelogMode) -> FormatDeclaration:
    def bind(values: dict[str, Any]) -> ConfluentAvroFormat:
        registry = _registry(values)
        options = ConfluentOptions(registry, values[SUBJECT.key], values[SCHEMA.key])
        return ConfluentAvroFormat(options, identifier, changelog)

    return FormatDeclaration(
        identifier,
        doc,
        bind,
        _OPTIONS,
        changelog,
        _why_unsupported,
        (_has_an_address, _schema_says_the_same),
        without_effect=_WITHOUT_EFFECT,
        fallback_keys=_OLDER_KEYS,
    )


AVRO_CONFLUENT: Final = _declaration(
    "avro-confluent", f"Avro with the number of its schema in a schema registry. {NOT_UTF_8}", INSERT_ONLY
)
DEBEZIUM_AVRO_CONFLUENT: Final = _declaration(
    "debezium-avro-confluent", "Changes as Debezium captures them, in Avro with a schema registry.", ALL_CHANGES
)
