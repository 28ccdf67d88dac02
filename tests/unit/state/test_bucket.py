"""The state of a bucket in files: what a batch starts from, leaves behind, and finds when a file is damaged."""

from __future__ import annotations

import errno
import pickle
import shutil
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.state.bucket import BucketState
from millstream.state.job_state import TableSize, discard_after, measure, measure_after
from millstream.state.state_table import StateTable
from millstream.state.storage import LocalStorage, StateFileError
from tests.unit.kernels.stored_rows import KEY, VALUE, look_up, rows_to_put
from tests.unit.tiny_segments import tiny_segments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FOLDER = "aggregate-1/3"
LARGE: dict[int, int | None] = {key: key for key in range(60_000)}
"""Enough for a piece with a file of its own."""


def write(root: Path, batch: int, rows: dict[int, int | None], *, commits: bool = True, retained: int = 10) -> None:
    (root / "aggregate-1").mkdir(parents=True, exist_ok=True)
    bucket = BucketState(LocalStorage(root), FOLDER, batch, retained=retained)
    StateTable(KEY, VALUE, bucket.table("groups")).put(rows_to_put(rows, colliding=False))
    if commits:
        bucket.commit()


def read(root: Path, batch: int) -> dict[int, int]:
    bucket = BucketState(LocalStorage(root), FOLDER, batch, retained=10)
    return look_up(StateTable(KEY, VALUE, bucket.table("groups")), range(100), colliding=False)


def names(root: Path, suffix: str) -> list[str]:
    return sorted(file.name for file in (root / FOLDER).iterdir() if file.name.endswith(suffix))


@given(
    batches=st.lists(
        st.lists(
            st.tuples(
                st.dictionaries(st.integers(0, 99), st.none() | st.integers(0, 9), min_size=1, max_size=60),
                st.booleans(),
            ),
            min_size=1,
            max_size=3,
        ),
        max_size=12,
    ),
    retained=st.integers(1, 3),
)
def test_any_batch_may_be_attempted_several_times(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[list[tuple[dict[int, int | None], bool]]],
    retained: int,
) -> None:
    """Attempts before the last may end before their manifest or after it, and may have had other rows."""
    root = tmp_path_factory.mktemp("state")
    truth: dict[int, int | None] = {}
    for batch, attempts in enumerate(batches):
        with tiny_segments():
            for rows, commits in attempts[:-1]:
                write(root, batch, rows, commits=commits, retained=retained)
            last, _ = attempts[-1]
            write(root, batch, last, retained=retained)
        truth |= last
        assert read(root, batch + 1) == {key: value for key, value in truth.items() if value is not None}


def test_a_batch_sees_what_the_batches_before_it_left(tmp_path: Path) -> None:
    for batch in range(4):
        write(tmp_path, batch * 2, {batch: batch})
    assert [read(tmp_path, batch) for batch in (0, 1, 2, 3, 7)] == [
        {},
        {0: 0},
        {0: 0},
        {0: 0, 1: 1},
        {0: 0, 1: 1, 2: 2, 3: 3},
    ]


def test_a_batch_without_changes_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path, 0, {})
    assert not (tmp_path / FOLDER).exists()


def test_what_an_attempt_wrote_that_had_changes_goes_when_the_next_has_none(tmp_path: Path) -> None:
    write(tmp_path, 0, {1: 1})
    write(tmp_path, 1, {2: 2})
    write(tmp_path, 1, {})
    assert read(tmp_path, 2) == {1: 1}


def test_small_pieces_share_a_file_and_large_ones_do_not(tmp_path: Path) -> None:
    (tmp_path / "aggregate-1").mkdir()
    bucket = BucketState(LocalStorage(tmp_path), FOLDER, 0, retained=10)
    tables = {name: StateTable(KEY, VALUE, bucket.table(name)) for name in ("a", "b", "c")}
    for number, (name, table) in enumerate(tables.items()):
        table.put(rows_to_put({number: number} if name != "c" else dict(LARGE), colliding=False))
        assert look_up(table, [number], colliding=False) == {number: number}  # before it is committed
    bucket.commit()
    assert len(names(tmp_path, ".arrow")) == 2
    again = BucketState(LocalStorage(tmp_path), FOLDER, 1, retained=10)
    for number, name in enumerate(tables):
        table = StateTable(KEY, VALUE, again.table(name))
        assert look_up(table, [number], colliding=False) == {number: number}


def test_files_that_no_retained_batch_needs_are_removed(tmp_path: Path) -> None:
    """Also those of attempts that failed, and of writes that were broken off."""
    for batch in range(200):
        write(tmp_path, batch, {batch % 7: batch}, retained=5)
        write(tmp_path, batch + 1, {8: 8}, commits=False, retained=5)
        (tmp_path / FOLDER / f"{batch}.json.broken-off").touch()
    assert len(names(tmp_path, "")) <= 2 * 3 * 5 + 7
    assert read(tmp_path, 200) == {key: max(n for n in range(200) if n % 7 == key) for key in range(7)}


def test_a_bucket_that_changes_in_a_rhythm_is_cleaned_too(tmp_path: Path) -> None:
    for batch in range(3, 2000, 10):
        write(tmp_path, batch, {1: batch})
    assert len(names(tmp_path, "")) < 12


def test_state_that_is_elsewhere_is_not_taken_for_empty(tmp_path: Path) -> None:
    with pytest.raises(StateFileError, match="aggregate-1 of the state is damaged: It is missing, or not on a file"):
        read(tmp_path, 3)


def test_state_can_be_read_as_many_batches_back_as_are_retained(tmp_path: Path) -> None:
    for batch in range(40):
        write(tmp_path, batch, {1: batch}, retained=5)
    assert [read(tmp_path, batch)[1] for batch in range(36, 41)] == [35, 36, 37, 38, 39]


def test_unfinished_batches_are_discarded(tmp_path: Path) -> None:
    for batch in range(4):
        write(tmp_path, batch, {batch: batch})
    storage = LocalStorage(tmp_path)
    discard_after(storage, 2)
    assert read(tmp_path, 9) == {0: 0, 1: 1, 2: 2}
    discard_after(storage, None)
    assert read(tmp_path, 9) == {}
    discard_after(LocalStorage(tmp_path / "nothing"), None)


def test_a_job_cannot_go_further_back_than_state_is_retained(tmp_path: Path) -> None:
    for batch in range(40):
        write(tmp_path, batch, {1: batch}, retained=5)
    with pytest.raises(StateFileError, match=r"29\.json of the state is damaged: It is missing, .* from batch 3\."):
        discard_after(LocalStorage(tmp_path), 3)
    assert read(tmp_path, 40) == {1: 39}
    discard_after(LocalStorage(tmp_path), 36)
    assert read(tmp_path, 40) == {1: 36}


def test_a_manifest_that_a_later_one_builds_on_is_missed(tmp_path: Path) -> None:
    for batch in range(3):
        write(tmp_path, batch, {1: batch})
    (tmp_path / FOLDER / "1.json").unlink()
    with pytest.raises(StateFileError, match=r"1\.json"):
        discard_after(LocalStorage(tmp_path), 1)


def test_sizes_are_those_of_the_newest_batch(tmp_path: Path) -> None:
    write(tmp_path, 0, LARGE)
    write(tmp_path, 1, dict.fromkeys(range(10), 2))
    [size] = measure(LocalStorage(tmp_path))
    rows = len(LARGE) + 10
    assert size == TableSize(
        "aggregate-1", "groups", rows=rows, bytes=size.bytes, segments=2, pieces=2, buckets=1, batch=1
    )
    assert rows * 25 < size.bytes < rows * 27 + 5000


def test_sizes_after_an_earlier_batch(tmp_path: Path) -> None:
    many = len(LARGE)
    write(tmp_path, 0, LARGE)
    write(tmp_path, 3, dict.fromkeys(range(10), 2))
    after = [[(size.rows, size.batch) for size in measure_after(LocalStorage(tmp_path), batch)] for batch in (0, 2, 3)]
    assert after == [[(many, 0)], [(many, 0)], [(many + 10, 3)]]
    assert measure_after(LocalStorage(tmp_path), -1) == []
    (tmp_path / FOLDER / "0.json").write_bytes(b"")
    assert [size.rows for size in measure_after(LocalStorage(tmp_path), 3)] == [many + 10]
    with pytest.raises(StateFileError, match=r"0\.json"):
        measure_after(LocalStorage(tmp_path), 2)


def test_what_was_checked_in_one_folder_is_checked_in_another(tmp_path: Path) -> None:
    write(tmp_path / "a", 0, {1: 1})
    assert read(tmp_path / "a", 1) == {1: 1}
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    [name] = names(tmp_path / "b", ".arrow")
    flip(tmp_path / "b" / FOLDER / name)
    with pytest.raises(StateFileError):
        read(tmp_path / "b", 1)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def flip_first(file: Path) -> None:
    """In the filter of a large piece."""
    data = bytearray(file.read_bytes())
    data[0] ^= 1
    file.write_bytes(data)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def other_layout(file: Path) -> None:
    file.write_text(file.read_text().replace('"layout": 2', '"layout": 9'))


@pytest.mark.parametrize(
    ("damage", "suffix", "why"),
    [
        (cut, ".arrow", "It has "),
        (empty, ".arrow", "It has 0 bytes"),
        (flip, ".arrow", "It does not match its checksum."),
        (flip_first, ".arrow", "It does not match its checksum."),
        (lambda file: file.unlink(), ".arrow", "It is missing."),
        (replace_by_folder, ".arrow", "It is a folder."),
        (replace_by_folder, ".json", "It is a folder."),
        (cut, ".json", "It is not a manifest."),
        (empty, ".json", "It is empty."),
        (flip, ".json", ""),
        (other_layout, ".json", "It was written in layout 9; this version reads 2 and 3."),
    ],
)
@pytest.mark.parametrize("rows", [{1: 1}, LARGE], ids=["small", "large"])
def test_damage_names_the_file(
    tmp_path: Path, damage: Callable[[Path], None], suffix: str, why: str, rows: dict[int, int | None]
) -> None:
    write(tmp_path, 0, rows)
    [name] = names(tmp_path, suffix)
    damage(tmp_path / FOLDER / name)
    with pytest.raises(StateFileError) as raised:
        read(tmp_path, 1)
    assert raised.value.file == str(tmp_path / FOLDER / name)
    assert raised.value.why.startswith(why)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_file_where_the_folder_of_a_bucket_should_be_is_named(tmp_path: Path) -> None:
    write(tmp_path, 0, {1: 1})
    shutil.rmtree(tmp_path / FOLDER)
    (tmp_path / FOLDER).touch()
    with pytest.raises(StateFileError, match=r"aggregate-1/3 of the state is damaged: A file is where a folder"):
        read(tmp_path, 1)


@pytest.mark.parametrize(("opens", "suffix"), [("pyarrow.memory_map", ".arrow"), ("pathlib.Path.read_bytes", ".json")])
def test_a_file_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opens: str, suffix: str
) -> None:
    """Simulated, because root may read everything."""
    write(tmp_path, 0, {1: 1})
    [name] = names(tmp_path, suffix)
    monkeypatch.setattr(opens, refuse_permission)
    with pytest.raises(StateFileError, match="The user of this process may not read it") as raised:
        read(tmp_path, 1)
    assert raised.value.file == str(tmp_path / FOLDER / name)


def refuse_permission(*_: object) -> NoReturn:
    raise PermissionError(errno.EACCES, "Permission denied")


def test_a_failure_that_may_pass_is_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out(*_: object) -> NoReturn:
        raise OSError(errno.EMFILE, "Too many open files")

    write(tmp_path, 0, {1: 1})
    monkeypatch.setattr("pyarrow.memory_map", run_out)
    with pytest.raises(OSError, match="Too many open files"):
        read(tmp_path, 1)


def test_a_bucket_that_stays_as_it_is_keeps_only_what_it_needs(tmp_path: Path) -> None:
    """As does one that was swept when its last rows had expired, and has been idle since."""
    write(tmp_path, 1, {1: 10})
    write(tmp_path, 2, {1: None})
    for batch in (11, 12):
        BucketState(LocalStorage(tmp_path), FOLDER, batch, retained=10).commit()
        assert names(tmp_path, ".json") == (["1.json", "2.json"] if batch == 11 else ["2.json"])
    assert names(tmp_path, ".arrow") == []
    assert read(tmp_path, 14) == {}
    assert BucketState(LocalStorage(tmp_path), FOLDER, 14, retained=10).is_empty
