"""How a table's properties log in to Kafka, and the equivalent settings of Kafka's C client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.catalog.jaas import jaas_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_JAAS: Final = "sasl.jaas.config"
_MECHANISM: Final = "sasl.mechanism"
_TOKEN_URL: Final = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 - an address
_HANDLER: Final = "sasl.login.callback.handler.class"
_KAFKAS_HANDLER: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
_WITH_PASSWORD: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_WITH_TOKEN: Final = "OAUTHBEARER"  # noqa: S105 - the name of a mechanism
_JAVAS_DEFAULT: Final = "GSSAPI"
_EXTENSION: Final = "extension_"
_UNSIGNED_SUBJECT: Final = "unsecuredLoginStringClaim_sub"
_UNSIGNED_SECONDS: Final = "unsecuredLoginLifetimeSeconds"
_OTHER_WAYS: Final = f"Set 'properties.{_MECHANISM}' to one of {', '.join((*_WITH_PASSWORD, _WITH_TOKEN))}"
_ELSEWHERE: Final = {
    "GSSAPI": "Kerberos is not among them. Most clusters have a listener for SCRAM or for client certificates too.",
    "AWS_MSK_IAM": "IAM is not among them. Enable SCRAM (port 9096) or client certificates (port 9094) on the cluster.",
}


@dataclass(frozen=True, slots=True)
class Untranslatable:
    """A property that Java's clients support and the C client does not."""

    key: str
    why: str
    hint: str


def _mechanism_of(properties: Mapping[str, str]) -> str:
    return properties.get(_MECHANISM, _JAVAS_DEFAULT).upper()


def login(properties: Mapping[str, str]) -> dict[str, str]:
    """Empty if it cannot be determined."""
    settings = jaas_settings(properties.get(_JAAS, ""))
    if _mechanism_of(properties) != _WITH_TOKEN:
        return {f"sasl.{word}": settings[word] for word in ("username", "password") if word in settings}
    return _with_token(properties, settings) or _with_unsigned_token(settings)


def untranslatable_login(properties: Mapping[str, str]) -> Iterator[Untranslatable]:
    mechanism, credentials = _mechanism_of(properties), login(properties)
    written = _MECHANISM if _MECHANISM in properties else "security.protocol"
    if mechanism not in (*_WITH_PASSWORD, _WITH_TOKEN):
        yield Untranslatable(
            written,
            f"SASL mechanism {mechanism} is not supported",
            f"{_OTHER_WAYS}{'; ' + _ELSEWHERE[mechanism] if mechanism in _ELSEWHERE else '.'}",
        )
    elif mechanism == _WITH_TOKEN and not credentials:
        yield Untranslatable(
            _JAAS if _JAAS in properties else written,
            "no endpoint that issues tokens is configured",
            f"Set 'properties.{_TOKEN_URL}', and write 'properties.{_JAAS}' as: "
            '… required clientId="…" clientSecret="…" scope="…"; with the login module of OAUTHBEARER.',
        )
    elif mechanism == _WITH_TOKEN and _TOKEN_URL in properties and _HANDLER not in properties:
        yield Untranslatable(
            _TOKEN_URL,
            f"tokens are asked for by a class that 'properties.{_HANDLER}' names",
            f"Set it to '{_KAFKAS_HANDLER}'.",
        )
    elif mechanism in _WITH_PASSWORD and len(credentials) < len(("username", "password")):
        yield Untranslatable(
            _JAAS if _JAAS in properties else written,
            f"'properties.{_JAAS}' has no username and password",
            f'Write it as: … required username="…" password="…"; with the login module of {mechanism}.',
        )


def _with_token(properties: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    if _TOKEN_URL not in properties or not {"clientId", "clientSecret"} <= settings.keys():
        return {}
    translated = {
        "sasl.oauthbearer.method": "oidc",
        _TOKEN_URL: properties[_TOKEN_URL],
        "sasl.oauthbearer.client.id": settings["clientId"],
        "sasl.oauthbearer.client.secret": settings["clientSecret"],
    }
    if scope := settings.get("scope"):
        translated["sasl.oauthbearer.scope"] = scope
    extensions = [
        f"{name.removeprefix(_EXTENSION)}={text}" for name, text in settings.items() if name.startswith(_EXTENSION)
    ]
    if extensions:
        translated["sasl.oauthbearer.extensions"] = ",".join(extensions)
    return translated


def _with_unsigned_token(settings: Mapping[str, str]) -> dict[str, str]:
    """What Kafka's own classes do if no handler is named: for testing, a token without a signature."""
    if _UNSIGNED_SUBJECT not in settings:
        return {}
    seconds = settings.get(_UNSIGNED_SECONDS)
    token = f"principal={settings[_UNSIGNED_SUBJECT]}" + (f" lifeSeconds={seconds}" if seconds else "")
    return {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": token}
