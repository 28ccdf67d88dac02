"""What Kafka's client says becomes a code, a place to look and something to do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.errors import BrokerError, Code, MillstreamError, ScriptError
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.broker_probe import Finding, Probe
from millstream.runtime.kafka.client_errors import Question, broker_error, is_final

REFUSED = (
    "localhost:9092/bootstrap: Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after 0ms in state CONNECT)"
)
NOT_FOUND = (
    "nohost:9092/bootstrap: Failed to resolve 'nohost:9092': Name or service not known (after 2ms in state CONNECT)"
)
NO_LOGIN = (
    "sasl_ssl://localhost:9092/bootstrap: SASL authentication error: Authentication failed (after 5ms in state AUTH)"
)
QUESTION = Question("the topics cannot be listed", Code.OFFSETS_UNAVAILABLE, {"bootstrap.servers": "localhost:9092"})
NOBODY = KafkaError(KafkaError._TRANSPORT, "Failed to get metadata: Local: Broker transport failure")


def translate(answer: KafkaError, *reported: KafkaError) -> MillstreamError:
    return broker_error(KafkaException(answer), QUESTION, reported)


@pytest.mark.parametrize(
    ("reported", "code", "detail"),
    [
        (KafkaError(KafkaError._TRANSPORT, REFUSED), Code.BROKER_UNREACHABLE, "Connection refused."),
        (KafkaError(KafkaError._RESOLVE, NOT_FOUND), Code.BROKER_UNREACHABLE, "Name or service not known."),
        (KafkaError(KafkaError._AUTHENTICATION, NO_LOGIN), Code.BROKER_REFUSED, "Authentication failed."),
    ],
)
def test_what_was_heard_says_more_than_the_answer(reported: KafkaError, code: Code, detail: str) -> None:
    error = translate(NOBODY, reported, KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert error.code is code
    text = str(error.diagnostics[0].detail)
    assert text.endswith(detail)
    assert "bootstrap" not in text


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
    error = translate(KafkaError(answer), KafkaError(KafkaError._TRANSPORT, REFUSED))
    assert error.code is code
    assert error.diagnostics[0].hint
    assert isinstance(error, BrokerError)


@pytest.mark.parametrize(
    ("code", "text", "properties", "expected"),
    [
        (
            KafkaError._AUTHENTICATION,
            (
                "b:1/bootstrap: SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism: "
                "broker's supported mechanisms: SCRAM-SHA-256,SCRAM-SHA-512 (after 1ms in state AUTH_HANDSHAKE)"
            ),
            {},
            "detail: It takes SCRAM-SHA-256,SCRAM-SHA-512.",
        ),
        (
            KafkaError._AUTHENTICATION,
            (
                "b:1/bootstrap: SASL mechanism handshake failed: Broker: Request not valid in current SASL state: "
                "broker's supported mechanisms:  (after 1ms in state AUTH_HANDSHAKE)"
            ),
            {"security.protocol": "SASL_SSL"},
            "to 'SSL'",
        ),
        (
            KafkaError._TRANSPORT,
            (
                "ssl://b:1/bootstrap: Receive failed: error:0A000412:SSL routines::ssl/tls alert bad certificate: "
                "SSL alert number 42 (after 1ms in state APIVERSION_QUERY)"
            ),
            {"ssl.keystore.location": "/own.p12"},
            "did not accept the client's certificate",
        ),
    ],
)
def test_words_that_say_what_to_change(code: int, text: str, properties: dict[str, str], expected: str) -> None:
    question = replace(QUESTION, properties={**QUESTION.properties, **properties})
    error = broker_error(KafkaException(NOBODY), question, [KafkaError(code, text)])
    assert error.code is Code.BROKER_REFUSED
    assert expected in str(error)
    assert is_final(KafkaException(NOBODY), [KafkaError(code, text)], question.properties)


def test_a_slow_broker_is_not_said_to_hang_up() -> None:
    slow = KafkaError(KafkaError._TIMED_OUT, "b:1/bootstrap: ApiVersionRequest failed: Local: Timed out")
    error = broker_error(KafkaException(NOBODY), QUESTION, [slow], Probe(Finding.HANGS_UP))
    assert "closed the connection" not in str(error)
    down = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
    assert "closed the connection" in str(
        broker_error(KafkaException(NOBODY), QUESTION, [down], Probe(Finding.HANGS_UP))
    )


def test_silence() -> None:
    error = broker_error(TimeoutError(), QUESTION)
    assert error.code is Code.OFFSETS_UNAVAILABLE
    assert error.diagnostics[0].primary == "the topics cannot be listed"


def test_property_that_the_client_does_not_take() -> None:
    with pytest.raises(ScriptError) as caught:
        KafkaAdmin({"bootstrap.servers": "localhost:1", "security.protocol": "nonsense"})
    assert caught.value.code is Code.INVALID_OPTION_VALUE
    assert "security.protocol" in str(caught.value)
