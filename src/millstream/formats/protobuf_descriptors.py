"""A compiled set of .proto files, and its messages by Java class or full name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAME_NAME_SUFFIX: Final = "OuterClass"


@dataclass(frozen=True, slots=True)
class DescriptorFile:
    """The output of `protoc --include_imports --descriptor_set_out=…`, read once: tasks need no file."""

    path: str
    data: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str) -> DescriptorFile:
        """Raises ValueError if there is no such file, or if protoc has not written it."""
        from google.protobuf.message import DecodeError

        try:
            found = cls(path, Path(path).read_bytes())
        except OSError as error:
            raise ValueError(f'"{path}" cannot be read: {error.strerror}') from None
        try:
            if not found.messages():
                raise ValueError(f'"{path}" has no message')
        except (DecodeError, TypeError) as error:
            raise ValueError(f'"{path}" is not a set of descriptors with all its imports: {error}') from None
        return found

    def messages(self) -> dict[str, str]:
        """Each name of a message, Java's or its own, with its full name."""
        found = {name: full_name for file in self._files() for name, full_name in _names(file)}
        if found:
            self.pool()
        return found

    def pool(self) -> Any:
        from google.protobuf.descriptor_pool import DescriptorPool

        pool = DescriptorPool()
        files = {file.name: file for file in self._files()}
        added: set[str] = set()

        def add(name: str) -> None:
            if name in files and name not in added:
                added.add(name)
                for needed in files[name].dependency:
                    add(needed)
                pool.Add(files[name])

        for name in files:
            add(name)
        return pool

    def message_type(self, full_name: str) -> Any:
        """The class that reads and writes such messages."""
        from google.protobuf.message_factory import GetMessageClass

        return GetMessageClass(self.pool().FindMessageTypeByName(full_name))

    def _files(self) -> Any:
        from google.protobuf.descriptor_pb2 import FileDescriptorSet

        return FileDescriptorSet.FromString(self.data).file


def _names(file: Any) -> Iterator[tuple[str, str]]:
    java_package = file.options.java_package if file.options.HasField("java_package") else file.package
    outer = "" if file.options.java_multiple_files else f"{_outer_class(file)}$"
    for path in _paths(file.message_type):
        full_name = ".".join([file.package, *path]).lstrip(".")
        java_name = f"{java_package}.{outer}{'$'.join(path)}".lstrip(".")
        yield full_name, full_name
        yield java_name, full_name
        yield java_name.replace("$", "."), full_name


def _paths(messages: Any) -> Iterator[list[str]]:
    for message in messages:
        if not message.options.map_entry:
            yield [message.name]
            for inner in _paths(message.nested_type):
                yield [message.name, *inner]


def _outer_class(file: Any) -> str:
    """The class that contains those of a file: named by an option, or after the file."""
    if file.options.HasField("java_outer_classname"):
        return str(file.options.java_outer_classname)
    stem = file.name.rsplit("/", 1)[-1].split(".")[0]
    name = "".join(part[:1].upper() + part[1:] for part in stem.replace("-", "_").split("_"))
    taken = {named.name for named in (*file.message_type, *file.enum_type, *file.service)}
    return name + _SAME_NAME_SUFFIX if name in taken else name
