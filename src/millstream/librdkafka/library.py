"""The functions of librdkafka that are called here, from the copy that confluent-kafka brings along."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_void_p
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import cimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PRODUCER: Final = 0
CONSUMER: Final = 1
_CONF_OK: Final = 0
_TEXT_BYTES: Final = 512

_LIBRARY: Final = ctypes.CDLL(cimpl.__file__)
_C: Final = ctypes.CDLL(None)
_HOLDING_THE_LOCK: Final = ctypes.PyDLL(cimpl.__file__)
"""For functions that return at once: giving up Python's lock would take longer than the call."""


def _function(name: str, result: Any, *arguments: Any, returns_at_once: bool = False) -> Callable[..., Any]:
    function = getattr(_HOLDING_THE_LOCK if returns_at_once else _LIBRARY, name)
    function.restype, function.argtypes = result, arguments
    return function  # type: ignore[no-any-return]


def _find_function(name: str, result: Any, *arguments: Any) -> Any:
    """None in versions that do not have it."""
    return _function(name, result, *arguments) if hasattr(_LIBRARY, name) else None


ERROR_CALLBACK: Final = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_void_p)
"""The client, the code of the error, its text, and nothing."""
DELIVERY_CALLBACK: Final = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
"""The client, the message, and nothing."""

_conf_new: Final = _function("rd_kafka_conf_new", c_void_p)
_conf_set: Final = _function("rd_kafka_conf_set", c_int, c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)
_conf_set_error_cb: Final = _function("rd_kafka_conf_set_error_cb", None, c_void_p, ERROR_CALLBACK)
_conf_set_dr_msg_cb: Final = _function("rd_kafka_conf_set_dr_msg_cb", None, c_void_p, DELIVERY_CALLBACK)
_new: Final = _function("rd_kafka_new", c_void_p, c_int, c_void_p, c_char_p, c_size_t)
_err2str: Final = _function("rd_kafka_err2str", c_char_p, c_int)
_err2name: Final = _function("rd_kafka_err2name", c_char_p, c_int)

last_error: Final = _function("rd_kafka_last_error", c_int)
poll: Final = _function("rd_kafka_poll", c_int, c_void_p, c_int)
destroy: Final = _function("rd_kafka_destroy", None, c_void_p)
_topic_new: Final = _function("rd_kafka_topic_new", c_void_p, c_void_p, c_char_p, c_void_p)
topic_destroy: Final = _function("rd_kafka_topic_destroy", None, c_void_p)
topic_name: Final = _function("rd_kafka_topic_name", c_char_p, c_void_p)
produce_batch: Final = _function("rd_kafka_produce_batch", c_int, c_void_p, c_int32, c_int, c_void_p, c_int)
flush: Final = _function("rd_kafka_flush", c_int, c_void_p, c_int)
purge: Final = _function("rd_kafka_purge", c_int, c_void_p, c_int)
_fatal_error: Final = _function("rd_kafka_fatal_error", c_int, c_void_p, c_char_p, c_size_t)
consume_start: Final = _function("rd_kafka_consume_start", c_int, c_void_p, c_int32, c_int64)
consume_stop: Final = _function("rd_kafka_consume_stop", c_int, c_void_p, c_int32)
consume_batch: Final = _function("rd_kafka_consume_batch", c_ssize_t, c_void_p, c_int32, c_int, c_void_p, c_size_t)
query_watermark_offsets: Final = _function(
    "rd_kafka_query_watermark_offsets",
    c_int, c_void_p, c_char_p, c_int32, POINTER(c_int64), POINTER(c_int64), c_int,
)  # fmt: skip
message_destroy: Final = _function("rd_kafka_message_destroy", None, c_void_p, returns_at_once=True)
destroy_messages: Final = _find_function("rd_kafka_messages_destroy", None, c_void_p)
count_messages: Final = _find_function("rd_kafka_messages_count", c_size_t, c_void_p)
get_message: Final = _find_function("rd_kafka_messages_get", c_void_p, c_void_p, c_size_t)
message_timestamp: Final = _function(
    "rd_kafka_message_timestamp", c_int64, c_void_p, POINTER(c_int), returns_at_once=True
)
message_leader_epoch: Final = _function("rd_kafka_message_leader_epoch", c_int32, c_void_p, returns_at_once=True)
message_headers: Final = _function("rd_kafka_message_headers", c_int, c_void_p, POINTER(c_void_p), returns_at_once=True)
header_get_all: Final = _function(
    "rd_kafka_header_get_all",
    c_int, c_void_p, c_size_t, POINTER(c_char_p), POINTER(c_void_p), POINTER(c_size_t),
    returns_at_once=True,
)  # fmt: skip


allocate: Final = _C.malloc
allocate.restype, allocate.argtypes = c_void_p, (c_size_t,)
free: Final = _C.free
free.restype, free.argtypes = None, (c_void_p,)


class ClientError(Exception):
    """An error of the client, by librdkafka's code."""

    def __init__(self, code: int, text: str | None = None) -> None:
        self.code = code
        self.text = text or _err2str(code).decode()
        super().__init__(f"{_err2name(code).decode()}: {self.text}")


def find_fatal_error(client: c_void_p) -> ClientError:
    """The error after which a client does nothing any more."""
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    code = _fatal_error(client, text, _TEXT_BYTES)
    return ClientError(code, text.value.decode(errors="replace"))


def open_topic(client: c_void_p, name: str) -> c_void_p:
    handle = _topic_new(client, name.encode(), None)
    if not handle:
        raise ClientError(last_error())
    return c_void_p(handle)


def create_client(kind: int, settings: Mapping[str, Any], on_error: Any, on_delivery: Any = None) -> c_void_p:
    """A handle, with settings as for confluent-kafka's clients.

    `on_error`, an ERROR_CALLBACK, and `on_delivery`, a DELIVERY_CALLBACK, must outlive it.
    """
    conf = c_void_p(_conf_new())
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    for name, value in settings.items():
        if name == "logger":  # confluent-kafka's own
            continue
        written = str(value).lower() if isinstance(value, bool) else str(value)
        if _conf_set(conf, name.encode(), written.encode(), text, _TEXT_BYTES) != _CONF_OK:
            raise ValueError(text.value.decode(errors="replace"))
    _conf_set_error_cb(conf, on_error)
    if on_delivery is not None:
        _conf_set_dr_msg_cb(conf, on_delivery)
    client = _new(kind, conf, text, _TEXT_BYTES)
    if not client:
        raise ValueError(text.value.decode(errors="replace"))
    return c_void_p(client)
