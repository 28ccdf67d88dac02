"""Files of our own: forced to the disk in the right order, and every damage is told with the file's name."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millstream.delivery.id_notes import note_id, read_ids
from millstream.durable_files import LAYOUT, JobFile, read_json, shorten_name, sync_folder, write_json
from millstream.errors import Code, JobError
from millstream.runtime.checkpoint import Checkpoint
from millstream.runtime.kafka import exactly_once
from millstream.runtime.kafka.scan_ends import keep_ends, read_kept_ends
from millstream.runtime.kafka.topic_ids import read_kept_ids
from millstream.runtime.savepoint import copy_checkpoint
from millstream.spark.once import keep_value
from tests.begun_batches import begin_job
from tests.unit.runtime.test_checkpoint import insert

if TYPE_CHECKING:
    from collections.abc import Callable

ENDS: list[dict[tuple[str, int], int] | None] = [{("orders", 0): 12, ("orders", 1): 7}, None]
IDS = {"orders": "u5D7kQh7RcyBxkXFmQ0vYw", "checksum": "a-topic-may-be-called-so"}
KEPT = {"totals": exactly_once._Kept("shop", "totals", "cluster-1")}


def read_marker(folder: Path) -> object:
    checkpoint = Checkpoint(folder)
    checkpoint.release()
    return checkpoint._jobs


def write_marker(folder: Path) -> None:
    checkpoint = Checkpoint(folder)
    checkpoint.new_job(insert(), buckets=5)
    checkpoint.release()


OWN_FILES: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "millstream.json": (write_marker, read_marker),
    JobFile.DELIVERY: (lambda folder: exactly_once._write(folder, "0a1b2c3d4e5f", KEPT), exactly_once._read),
    JobFile.SCAN_ENDS: (lambda folder: keep_ends(folder, ENDS), read_kept_ends),
    JobFile.TOPIC_IDS: (lambda folder: write_json(folder / JobFile.TOPIC_IDS, IDS), read_kept_ids),
    JobFile.FIRST_START: (
        lambda folder: keep_value(folder, JobFile.FIRST_START, r"\d+", lambda: "1700000000000"),
        lambda folder: keep_value(folder, JobFile.FIRST_START, r"\d+", lambda: "another"),
    ),
    JobFile.FILE_NAMES: (
        lambda folder: keep_value(folder, JobFile.FILE_NAMES, "[0-9a-f]{12}", lambda: "0a1b2c3d4e5f"),
        lambda folder: keep_value(folder, JobFile.FILE_NAMES, "[0-9a-f]{12}", lambda: "another"),
    ),
    JobFile.TASKS: (
        lambda folder: keep_value(folder, JobFile.TASKS, r"\d+", lambda: "12"),
        lambda folder: keep_value(folder, JobFile.TASKS, r"\d+", lambda: "another"),
    ),
}
LAYOUT_2: dict[str, tuple[str, object]] = {
    JobFile.DELIVERY: (
        json.dumps({"run": "0a1b2c3d4e5f", "tables": {name: asdict(kept) for name, kept in KEPT.items()}}),
        ("0a1b2c3d4e5f", KEPT),
    ),
    JobFile.SCAN_ENDS: ('[{"orders": {"0": 12, "1": 7}}, null]', ENDS),
    JobFile.TOPIC_IDS: ('{"orders": "u5D7kQh7RcyBxkXFmQ0vYw"}', {"orders": "u5D7kQh7RcyBxkXFmQ0vYw"}),
    JobFile.FIRST_START: ("1700000000000", "1700000000000"),
    JobFile.FILE_NAMES: ("0a1b2c3d4e5f", "0a1b2c3d4e5f"),
}


def damages(content: bytes) -> dict[str, bytes]:
    """Empty, cut off anywhere, and each byte altered in two ways."""
    found = {"empty": b"", "blank": b"\n", "not JSON": b"hello", "null": b"null", "not text": b"\xff\xfe\x00"}
    found |= {f"cut to {length}": content[:length] for length in range(1, len(content) - 2, 5)}
    for at, byte in enumerate(content):
        for mask in (0x01, 0xFF):
            found[f"byte {at} ^ {mask}"] = content[:at] + bytes([byte ^ mask]) + content[at + 1 :]
    return found


def error_of(read: Callable[[], object], expected: object) -> JobError | None:
    """None if it gives what is expected."""
    try:
        found = read()
    except JobError as error:
        return error
    assert found == expected
    return None


def test_all_files_of_a_job_are_damaged_here() -> None:
    assert set(JobFile) < set(OWN_FILES)


@pytest.mark.parametrize("name", OWN_FILES)
def test_every_damage_is_told_or_changes_nothing(tmp_path: Path, name: str) -> None:
    write, read = OWN_FILES[name]
    write(tmp_path)
    whole, file = read(tmp_path), tmp_path / name
    content = file.read_bytes()
    refused = 0
    for damage, damaged_content in damages(content).items():
        file.write_bytes(damaged_content)
        error = error_of(lambda: read(tmp_path), whole)
        if error is not None:
            refused += 1
            assert error.code is Code.CHECKPOINT_MISMATCH, damage
            assert str(file) in error.diagnostics[0].primary, damage
            assert error.diagnostics[0].hint, damage
    assert refused > len(content)


@pytest.mark.parametrize("name", LAYOUT_2)
def test_file_of_layout_2_is_read(tmp_path: Path, name: str) -> None:
    text, value = LAYOUT_2[name]
    (tmp_path / name).write_text(text)
    assert OWN_FILES[name][1](tmp_path) == value


@pytest.mark.parametrize("name", LAYOUT_2)
def test_file_of_layout_2_that_is_damaged(tmp_path: Path, name: str) -> None:
    for content in (b"", LAYOUT_2[name][0].encode()[:-1] + b"\x00", b"\xff"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(JobError) as caught:
            OWN_FILES[name][1](tmp_path)
        assert caught.value.code is Code.CHECKPOINT_MISMATCH
        assert name in caught.value.diagnostics[0].primary


def test_file_of_a_later_layout_is_refused_with_both_numbers(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(json.dumps({"layout": 9, "checksum": "x", "content": []}))
    with pytest.raises(JobError, match=f"layout 9; this version reads {LAYOUT}"):
        read_json(tmp_path / "f", list)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is forced to the disk and renamed, in order."""
    made: list[tuple[str, str]] = []
    fsync, replace, rename = os.fsync, Path.replace, Path.rename

    def record_fsync(descriptor: int) -> None:
        made.append(("fsync", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        fsync(descriptor)

    def record_moves(move: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
        def call(source: Path, target: Path) -> Path:
            made.append(("rename", target.name))
            return move(source, target)

        return call

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "replace", record_moves(replace))
    monkeypatch.setattr(Path, "rename", record_moves(rename))
    return made


@pytest.mark.parametrize("name", OWN_FILES)
def test_content_then_name_then_folder_reach_the_disk(tmp_path: Path, calls: list[tuple[str, str]], name: str) -> None:
    OWN_FILES[name][0](tmp_path)
    assert calls == [("fsync", f"{name}.new"), ("rename", name), ("fsync", tmp_path.name)]


def test_new_folders_reach_the_disk_too(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    write_json(tmp_path / "jobs" / "totals" / "f", [])
    assert calls[:2] == [("fsync", "jobs"), ("fsync", tmp_path.name)]
    assert calls[-1] == ("fsync", "totals")


def test_noted_id_reaches_the_disk(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    note_id(tmp_path / "ids", "shop-p0")
    assert calls == [("fsync", tmp_path.name), ("fsync", "shop-p0"), ("fsync", "ids")]


def test_savepoint_reaches_the_disk_before_it_has_its_name(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    checkpoint = Checkpoint(tmp_path / "c")
    begin_job(checkpoint, insert())
    checkpoint.release()
    calls.clear()
    copy_checkpoint(tmp_path / "c", tmp_path / "copy")
    named = calls.index(("rename", "copy"))
    forced = {name for call, name in calls[:named] if call == "fsync"}
    assert {"millstream.json", "metadata", "0", "offsets", "jobs", "copy.unfinished"} <= forced
    assert calls[named + 1 :] == [("fsync", tmp_path.name)]


def test_unfinished_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(tmp_path / "f", ["old"])

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(JobError) as caught:
        write_json(tmp_path / "f", ["new"])
    assert caught.value.code is Code.JOB_FAILED
    assert "No space left on device" in str(caught.value)
    assert read_json(tmp_path / "f", list) == ["old"]


def test_file_system_that_forces_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", refuse)
    sync_folder(tmp_path)


def test_ids_of_any_length_are_noted(tmp_path: Path) -> None:
    ids = {"shop-p0", "a/b%40 @.new-1", "ü" * 42 + "-3", "ü" * 43 + "-p0", "x" * 5000 + "-1", "x" * 5000 + "-2"}
    for each in (*ids, "shop-p0"):
        note_id(tmp_path / "ids", each)
    assert read_ids(tmp_path / "ids") == ids
    assert read_ids(tmp_path / "none") == set()


def test_damaged_note_of_a_long_id_is_told(tmp_path: Path) -> None:
    note_id(tmp_path, "x" * 5000)
    [file] = tmp_path.iterdir()
    file.write_text("")
    with pytest.raises(JobError, match=r"is damaged"):
        read_ids(tmp_path)


@pytest.mark.parametrize("length", [1, 254, 255])
def test_short_name_stays(length: int) -> None:
    assert shorten_name("x" * length) == "x" * length


def test_long_names_fit_and_stay_apart() -> None:
    long: list[Any] = ["x" * 256, "x" * 257, "x" * 5000, "x" * 255 + "y"]
    names = {shorten_name(name) for name in long}
    assert len(names) == len(long)
    assert all(len(f"{name}.new") <= 255 and name.startswith("x" * 200) for name in names)
