from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING

import pytest

from millstream.errors import Code, JobError
from millstream.runtime.checksums import is_damaged
from millstream.runtime.moved_state import adopt_state

if TYPE_CHECKING:
    from pathlib import Path


def note_schemas(folder: Path, made_in: str) -> Path:
    """As Spark notes them, with a checksum beside."""
    file = folder / "state/1/_metadata/v2/0"
    file.parent.mkdir(parents=True)
    schemas = [f"file:{made_in}/state/1/_stateSchema/default/0_a", f"file:{made_in}/state/1/_stateSchema/default/1_b"]
    stores = [{"storeName": "default", "numPartitions": 2, "stateSchemaFilePaths": schemas}]
    text = f"v2\n{json.dumps({'operatorInfo': {'operatorId': 1}, 'stateStoreInfo': stores}, separators=(',', ':'))}"
    file.write_text(text)
    checksum_of(file).write_bytes(struct.pack(">4sII", b"crc\0", 512, zlib.crc32(text.encode())))
    assert not is_damaged(file)
    return file


def checksum_of(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")


def test_finds_the_schemas_where_the_checkpoint_is(tmp_path: Path) -> None:
    file = note_schemas(tmp_path, "/gone/before/jobs/totals")
    adopt_state(tmp_path)
    version, text = file.read_text().splitlines()
    assert version == "v2"
    [store] = json.loads(text)["stateStoreInfo"]
    here = f"file:{tmp_path}/state/1/_stateSchema/default"
    assert store == {
        "storeName": "default",
        "numPartitions": 2,
        "stateSchemaFilePaths": [f"{here}/0_a", f"{here}/1_b"],
    }
    assert json.loads(text)["operatorInfo"] == {"operatorId": 1}
    assert not is_damaged(file)


def test_leaves_a_checkpoint_that_was_not_moved(tmp_path: Path) -> None:
    file = note_schemas(tmp_path, str(tmp_path))
    before = file.stat().st_mtime_ns, file.read_text()
    adopt_state(tmp_path)
    assert (file.stat().st_mtime_ns, file.read_text()) == before
    assert checksum_of(file).exists()


def test_job_without_state(tmp_path: Path) -> None:
    adopt_state(tmp_path / "not-there-yet")
    assert not (tmp_path / "not-there-yet").exists()


@pytest.mark.parametrize("keeps_checksum", [True, False])
def test_names_a_damaged_file(tmp_path: Path, *, keeps_checksum: bool) -> None:
    file = note_schemas(tmp_path, "/gone")
    file.write_text(file.read_text().replace("stateStoreInfo", "stateStoreInfx"))
    if not keeps_checksum:
        checksum_of(file).unlink()
    with pytest.raises(JobError) as refused:
        adopt_state(tmp_path)
    assert refused.value.code is Code.CHECKPOINT_MISMATCH
    assert str(file) in str(refused.value)
