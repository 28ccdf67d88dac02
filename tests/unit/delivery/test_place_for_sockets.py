"""Messages and credentials go to a process of this user only."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.delivery import client
from millstream.delivery.client import place_for_sockets
from millstream.delivery.delivery_error import DeliveryError, Failure


def test_a_socket_has_a_path_that_is_short_enough(tmp_path: Path) -> None:
    assert place_for_sockets(Path("/run")).parent == Path("/run")
    long = tmp_path / ("x" * 100)
    assert place_for_sockets(long).parent == Path("/tmp")
    assert place_for_sockets(long) != place_for_sockets(long)


@pytest.mark.parametrize("is_link", [False, True])
def test_a_folder_that_somebody_else_has_made_is_refused(tmp_path: Path, is_link: bool) -> None:  # noqa: FBT001
    place = tmp_path / "d-1"
    if is_link:
        place.symlink_to(tmp_path)
    else:
        place.mkdir(mode=0o755)
    with pytest.raises(DeliveryError, match="is not private") as caught, client._connect(place, 1):
        pass
    assert caught.value.failure is Failure.NO_PROCESS
    assert not list(tmp_path.rglob("*.log"))
