"""The wording of Kafka's client and the findings of a broker probe, and what they mean to the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError

from millstream.errors import Code
from millstream.runtime.kafka.broker_probe import Finding

_JAAS: Final = "sasl.jaas.config"
_MECHANISM: Final = "sasl.mechanism"
_PROTOCOL: Final = "security.protocol"
_TRUSTED: Final = ("ssl.truststore.location", "ssl.truststore.certificates", _PROTOCOL)
_OWN: Final = ("ssl.keystore.location", "ssl.keystore.certificate.chain", _PROTOCOL)
_ALERT: Final = r"alert (?:bad certificate|(?:unsupported |no )?certificate|unknown ca|handshake failure)"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Texts may refer to `{servers}`, `{doing}`, protocols to choose and the groups of `words`."""

    primary: str
    hint: str
    code: Code
    codes: tuple[int, ...] = ()
    words: str = ""
    """A regular expression searched for in the client's message."""
    lacks: str = ""
    """Applies only if no property begins with this."""
    detail: str | None = None
    """Replaces the client's message where that does not help."""
    at: tuple[str, ...] = ()
    """The properties concerned; the error points at the first that is written in the script."""


OF_A_PROBE: Final = {
    Finding.SPEAKS_TLS: Pattern(
        "Kafka at {servers} uses TLS, but the table does not",
        "Set 'properties.security.protocol' to '{encrypted}', and 'properties.ssl.truststore.*' where its certificate "
        "is not a public one.",
        Code.BROKER_UNREACHABLE,
        at=(_PROTOCOL,),
    ),
    Finding.HANGS_UP: Pattern(
        "Kafka at {servers} closed the connection",
        "Set 'properties.security.protocol' to '{authenticated}' with 'properties.sasl.*', or correct the port.",
        Code.BROKER_UNREACHABLE,
        detail="It accepts connections and closes them at once, as a broker that requires a login does.",
        at=(_PROTOCOL,),
    ),
    Finding.NOT_TRUSTED: Pattern(
        "the certificate of Kafka at {servers} is not trusted",
        "Name the certificate of its authority with 'properties.ssl.truststore.location' or "
        "'properties.ssl.truststore.certificates'.",
        Code.BROKER_UNREACHABLE,
        detail="No authority that the table trusts has signed it.",
        at=_TRUSTED,
    ),
    Finding.OTHER_HOST: Pattern(
        "the certificate of Kafka at {servers} is for another host",
        "Use an address that it names, or disable the check: 'properties.ssl.endpoint.identification.algorithm' = ''.",
        Code.BROKER_UNREACHABLE,
    ),
    Finding.OUT_OF_DATE: Pattern(
        "the certificate of Kafka at {servers} has expired, or is not valid yet",
        "Renew the broker's certificate, and check the clock of this machine.",
        Code.BROKER_UNREACHABLE,
    ),
}

OF_THE_CLIENT: Final = (
    Pattern(
        "Kafka at {servers} requires no login, but the table has one",
        "Set 'properties.security.protocol' to '{anonymous}', or correct the port.",
        Code.BROKER_REFUSED,
        codes=(KafkaError._AUTHENTICATION,),  # noqa: SLF001
        words=r"supported mechanisms:\s*(?:\(after|$)",
        detail="That listener of the broker accepts every client.",
        at=(_PROTOCOL,),
    ),
    Pattern(
        "Kafka at {servers} does not accept this SASL mechanism",
        "Set 'properties.sasl.mechanism' to one of these, with its login module in 'properties.sasl.jaas.config'.",
        Code.BROKER_REFUSED,
        codes=(KafkaError._AUTHENTICATION,),  # noqa: SLF001
        words=r"supported mechanisms:\s*(?P<mechanisms>[\w, -]+?)\s*(?:\(after|$)",
        detail="It takes {mechanisms}.",
        at=(_MECHANISM, _PROTOCOL),
    ),
    Pattern(
        "no token for Kafka at {servers} was issued",
        "Correct 'properties.sasl.oauthbearer.token.endpoint.url', or clientId and clientSecret in "
        "'properties.sasl.jaas.config'.",
        Code.BROKER_REFUSED,
        codes=(KafkaError._AUTHENTICATION,),  # noqa: SLF001
        words="Failed to acquire SASL OAUTHBEARER token",
        at=("sasl.oauthbearer.token.endpoint.url", _JAAS, _MECHANISM),
    ),
    Pattern(
        "Kafka at {servers} did not accept the credentials",
        "Correct 'properties.sasl.jaas.config', or 'properties.sasl.mechanism' if the user has another.",
        Code.BROKER_REFUSED,
        codes=(KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED),  # noqa: SLF001
        at=(_JAAS, _MECHANISM, _PROTOCOL),
    ),
    Pattern(
        "Kafka at {servers} denied access: {doing}",
        "Allow the user to read the source topics, write the sink topics, and use the group; for "
        "exactly-once also to read the sink topics, and use transactional ids and groups that begin with its prefix.",
        Code.BROKER_REFUSED,
        codes=(
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            KafkaError.GROUP_AUTHORIZATION_FAILED,
            KafkaError.CLUSTER_AUTHORIZATION_FAILED,
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
    ),
    Pattern(
        "Kafka at {servers} does not use TLS, but the table does",
        "Set 'properties.security.protocol' to '{plain}', or correct the port.",
        Code.BROKER_UNREACHABLE,
        codes=(KafkaError._TRANSPORT, KafkaError._SSL),  # noqa: SLF001
        words="connecting to a PLAINTEXT broker listener|wrong version number",
        detail="It closed the connection during the TLS handshake.",
        at=(_PROTOCOL,),
    ),
    Pattern(
        "Kafka at {servers} requires a client certificate",
        "Name one, with its key: 'properties.ssl.keystore.location', or 'properties.ssl.keystore.certificate.chain' "
        "and 'properties.ssl.keystore.key'.",
        Code.BROKER_REFUSED,
        codes=(KafkaError._TRANSPORT, KafkaError._SSL),  # noqa: SLF001
        words=_ALERT,
        lacks="ssl.keystore.",
        detail="It closes connections that present none.",
        at=(_PROTOCOL,),
    ),
    Pattern(
        "Kafka at {servers} did not accept the client's certificate",
        "Make the broker trust its authority, or correct 'properties.ssl.keystore.*'.",
        Code.BROKER_REFUSED,
        codes=(KafkaError._TRANSPORT, KafkaError._SSL),  # noqa: SLF001
        words=_ALERT,
        at=_OWN,
    ),
    Pattern(
        "no secure connection to {servers} could be established",
        "Check 'properties.security.protocol' and the certificates in 'properties.ssl.*'.",
        Code.BROKER_UNREACHABLE,
        codes=(KafkaError._SSL,),  # noqa: SLF001
        at=_TRUSTED,
    ),
    Pattern(
        "no Kafka broker answers at {servers}",
        "Correct the host name in 'properties.bootstrap.servers'.",
        Code.BROKER_UNREACHABLE,
        codes=(KafkaError._RESOLVE,),  # noqa: SLF001
    ),
    Pattern(
        "no Kafka broker answers at {servers}",
        "Check the address and that the broker runs; `millstream broker` starts one on this machine.",
        Code.BROKER_UNREACHABLE,
        codes=(KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN),  # noqa: SLF001
    ),
    Pattern(
        "{doing}",
        "Create the topic, or correct 'topic' in the table's WITH clause.",
        Code.TOPIC_MISSING,
        codes=(KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION),  # noqa: SLF001
        detail="The topic does not exist.",
    ),
    Pattern(
        "{doing}",
        "A topic's name has at most 249 letters, digits, '.', '_' and '-'; correct 'topic'.",
        Code.TOPIC_NOT_CREATED,
        codes=(KafkaError.TOPIC_EXCEPTION,),
    ),
    Pattern(
        "{doing}",
        "Create the topic with the number of partitions and replicas that this cluster asks for.",
        Code.TOPIC_NOT_CREATED,
        codes=(KafkaError.POLICY_VIOLATION, KafkaError.INVALID_REPLICATION_FACTOR, KafkaError.INVALID_PARTITIONS),
    ),
    Pattern(
        "the client's private key cannot be read",
        "Correct 'properties.ssl.key.password', or give the key in PEM.",
        Code.INVALID_OPTION_VALUE,
        codes=(KafkaError._INVALID_ARG,),  # noqa: SLF001
        words=r"ssl\.key\.(?:pem|location) failed",
        detail="Its password is not the right one, or it is not a key in PEM.",
        at=("ssl.key.password", "ssl.keystore.key", "ssl.keystore.location"),
    ),
    Pattern(
        "the properties for {servers} contradict each other",
        "Correct the option under 'properties.' that the detail names.",
        Code.INVALID_OPTION_VALUE,
        codes=(KafkaError._INVALID_ARG, KafkaError._CONFLICT),  # noqa: SLF001
    ),
)
"""The first that matches is reported."""
