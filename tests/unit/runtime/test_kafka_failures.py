"""What Kafka's client says becomes a code, a place to look and something to do."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.errors import BrokerError, Code, MillstreamError, ScriptError
from millstream.runtime.kafka_admin import KafkaAdmin
from millstream.runtime.kafka_failures import Question, broker_error

REFUSED = (
    "localhost:9092/bootstrap: Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after 0ms in state CONNECT)"
)
NOT_FOUND = (
    "nohost:9092/bootstrap: Failed to resolve 'nohost:9092': Name or service not known (after 2ms in state CONNECT)"
)
NO_LOGIN = (
    "sasl_ssl://localhost:9092/bootstrap: SASL authentication error: Authentication failed (after 5ms in state AUTH)"
)
ASKED = Question("the topics cannot be listed", Code.OFFSETS_UNAVAILABLE, {"bootstrap.servers": "localhost:9092"})
NOBODY = KafkaError(KafkaError._TRANSPORT, "Failed to get metadata: Local: Broker transport failure")


def told(answer: KafkaError, *heard: KafkaError) -> MillstreamError:
    return broker_error(KafkaException(answer), ASKED, heard)


@pytest.mark.parametrize(
    ("heard", "code", "detail"),
    [
        (KafkaError(KafkaError._TRANSPORT, REFUSED), Code.BROKER_UNREACHABLE, "Connection refused."),
        (KafkaError(KafkaError._RESOLVE, NOT_FOUND), Code.BROKER_UNREACHABLE, "Name or service not known."),
        (KafkaError(KafkaError._AUTHENTICATION, NO_LOGIN), Code.BROKER_REFUSED, "Authentication failed."),
    ],
)
def test_what_was_heard_says_more_than_the_answer(heard: KafkaError, code: Code, detail: str) -> None:
    error = told(NOBODY, heard, KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert error.code is code
    said = str(error.diagnostics[0].detail)
    assert said.endswith(detail)
    assert "bootstrap" not in said


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, Code.BROKER_REFUSED),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, Code.BROKER_REFUSED),
        (KafkaError.TOPIC_EXCEPTION, Code.TOPIC_NOT_CREATED),
        (KafkaError.POLICY_VIOLATION, Code.TOPIC_NOT_CREATED),
        (KafkaError._SSL, Code.BROKER_UNREACHABLE),
        (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, Code.OFFSETS_UNAVAILABLE),
    ],
)
def test_answer_of_the_broker(answer: int, code: Code) -> None:
    error = told(KafkaError(answer), KafkaError(KafkaError._TRANSPORT, REFUSED))
    assert error.code is code
    assert error.diagnostics[0].hint
    assert isinstance(error, BrokerError)


def test_silence() -> None:
    error = broker_error(TimeoutError(), ASKED)
    assert error.code is Code.OFFSETS_UNAVAILABLE
    assert error.diagnostics[0].primary == "the topics cannot be listed"


def test_property_that_the_client_does_not_take() -> None:
    with pytest.raises(ScriptError) as caught:
        KafkaAdmin({"bootstrap.servers": "localhost:1", "security.protocol": "nonsense"})
    assert caught.value.code is Code.INVALID_OPTION_VALUE
    assert "security.protocol" in str(caught.value)
