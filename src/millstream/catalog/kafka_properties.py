"""The properties of Kafka's clients that a table can pass on, with the valid values of some."""

from __future__ import annotations

import re
from typing import Final

from millstream.spelling import nearest

_NUMBERS: Final = (
    "auto.commit.interval.ms", "batch.size", "buffer.memory", "connections.max.idle.ms", "default.api.timeout.ms",
    "delivery.timeout.ms", "fetch.max.bytes", "fetch.max.wait.ms", "fetch.min.bytes", "heartbeat.interval.ms",
    "linger.ms", "max.block.ms", "max.in.flight.requests.per.connection", "max.partition.fetch.bytes",
    "max.poll.interval.ms", "max.poll.records", "max.request.size", "metadata.max.age.ms", "metadata.max.idle.ms",
    "receive.buffer.bytes", "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retries",
    "retry.backoff.max.ms", "retry.backoff.ms", "send.buffer.bytes", "session.timeout.ms",
    "socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms", "transaction.timeout.ms",
)  # fmt: skip
_SWITCHES: Final = (
    "allow.auto.create.topics", "check.crcs", "enable.auto.commit", "enable.idempotence", "enable.metrics.push",
    "exclude.internal.topics",
)  # fmt: skip
_TEXTS: Final = (
    "auto.offset.reset", "bootstrap.servers", "client.id", "client.rack", "group.id", "group.instance.id",
    "interceptor.classes", "key.deserializer", "key.serializer", "metric.reporters", "partition.assignment.strategy",
    "partitioner.class", "sasl.client.callback.handler.class", "sasl.jaas.config", "sasl.kerberos.service.name",
    "sasl.login.callback.handler.class", "sasl.login.class", "sasl.mechanism", "sasl.oauthbearer.token.endpoint.url",
    "security.providers", "ssl.cipher.suites", "ssl.enabled.protocols", "ssl.endpoint.identification.algorithm",
    "ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location",
    "ssl.keystore.password", "ssl.keystore.type", "ssl.protocol", "ssl.provider", "ssl.truststore.certificates",
    "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type", "transactional.id",
    "value.deserializer", "value.serializer",
)  # fmt: skip
_CHOICES: Final = {
    "acks": ("all", "-1", "0", "1"),
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
    "group.protocol": ("classic", "consumer"),
    "isolation.level": ("read_uncommitted", "read_committed"),
    "security.protocol": ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    **dict.fromkeys(_SWITCHES, ("true", "false")),
}
_IN_ANY_CASE: Final = ("security.protocol", "group.protocol", *_SWITCHES)
OVERRIDDEN: Final = ("key.deserializer", "value.deserializer", "key.serializer", "value.serializer")
KNOWN: Final = (*_NUMBERS, *_TEXTS, *_CHOICES)
_FAMILIES: Final = ("sasl.", "ssl.")


def is_of_kafka(key: str) -> bool:
    return key in KNOWN or key.startswith(_FAMILIES)


def wrong_value(key: str, value: str) -> str | None:
    """Why Kafka's clients would reject the value, as far as that can be decided without them."""
    text = value.strip()
    if key in _NUMBERS and not re.fullmatch(r"[-+]?[0-9]{1,19}", text):
        return f'"{value}" is not a whole number'
    choices = _CHOICES.get(key)
    if choices is None or text in choices:
        return None
    if key in _IN_ANY_CASE and text.lower() in [choice.lower() for choice in choices]:
        return None
    return f'"{value}" is not one of {", ".join(choices)}'


def nearest_property(key: str) -> str | None:
    """The property that was probably meant by an unknown one, which may also belong to a plugin of Kafka's clients.

    >>> nearest_property("akcs"), nearest_property("my.interceptor.level")
    ('acks', None)
    """
    if key in KNOWN:
        return None
    return nearest(key, KNOWN, may_be_right=True)
