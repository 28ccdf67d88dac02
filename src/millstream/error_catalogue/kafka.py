"""M4: Kafka's brokers, topics and offsets."""

from __future__ import annotations

from typing import Final

from millstream.error_catalogue.explanation import Explanation, Group
from millstream.errors import Code

KAFKA: Final = Group(
    "M4: Kafka",
    "Found when Kafka is asked, where possible before Spark starts.",
    {
        Code.BROKER_UNREACHABLE: Explanation(
            "no broker answers",
            cause="Nothing answers at 'properties.bootstrap.servers', or what answers speaks another protocol, or its "
            "certificate is not trusted: a broker that requires TLS or a login disconnects a client without it.",
            fix="Check host and port, that the broker runs, that a firewall lets you through, and "
            "'properties.security.protocol'. `millstream broker` starts a broker on this machine.",
            example="broker_unreachable",
        ),
        Code.TOPIC_MISSING: Explanation(
            "topic that does not exist",
            cause="The topic is not there, and it may not be created: a job has read from it before, the broker does "
            "not create topics by itself, or 'properties.allow.auto.create.topics' is false.",
            fix="Create the topic, or correct 'topic'. When it was deleted on purpose, start the job with --fresh.",
            example="topic_missing",
        ),
        Code.TOPIC_NOT_CREATED: Explanation(
            "topic that the broker did not create",
            cause="The topic is missing and the broker refused to create it: its name is not allowed, or a policy of "
            "the cluster forbids it.",
            fix="Follow the hint, or have the topic created by whoever runs the cluster.",
            example="topic_not_created",
        ),
        Code.OFFSETS_UNAVAILABLE: Explanation(
            "offsets that are not available",
            cause="The offset to start or resume at does not exist: a consumer group has committed nothing, or what "
            "was at that offset has been removed.",
            fix="Choose another 'scan.startup.mode', or set 'properties.auto.offset.reset'. A job whose messages "
            "were removed while it was stopped must start over with --fresh.",
            example="offsets_unavailable",
        ),
        Code.BROKER_REFUSED: Explanation(
            "request that Kafka refused",
            cause="The broker answers and does not let this user do what the job needs: the credentials or the "
            "certificate of the client are wrong or missing, or an access rule is.",
            fix="Correct 'properties.sasl.jaas.config' and related properties, or give the user permission to describe "
            "and read the source topics, to write the sink topics, and to use the consumer group. "
            "[Security](../security.md) has an example for every protocol.",
            example="password_not_accepted",
        ),
    },
)
