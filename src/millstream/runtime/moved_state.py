"""Makes a moved or copied checkpoint usable: Spark finds the schemas of a kernel's state by absolute paths.

It stores them in `state/N/_metadata/v2/`. A copy would otherwise depend on the original folder, which `--fresh` clears.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from millstream.durable_files import damage_error, write_text
from millstream.runtime.checksums import is_damaged

if TYPE_CHECKING:
    from pathlib import Path

_SCHEMAS: Final = "_stateSchema"
_PATHS: Final = "stateSchemaFilePaths"


def adopt_state(folder: Path) -> None:
    """Called when the job in the folder may resume; writes nothing if the folder has not been moved."""
    for operator in folder.glob("state/*"):
        for file in (each for each in operator.glob("_metadata/v2/*") if each.name.isdigit()):
            _adopt(file, operator)


def _adopt(file: Path, operator: Path) -> None:
    if is_damaged(file):
        raise damage_error(file, "It does not match its checksum.")
    version, _, text = file.read_text(encoding="utf-8").partition("\n")
    try:
        noted, adopted = json.loads(text), _localise_paths(json.loads(text), operator)
    except (ValueError, TypeError, KeyError):
        raise damage_error(file, "It does not say where the schemas of the state are.") from None
    if adopted != noted:
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        write_text(file, f"{version}\n{json.dumps(adopted, separators=(',', ':'))}")


def _localise_paths(metadata: dict[str, Any], operator: Path) -> dict[str, Any]:
    stores = [
        {**store, _PATHS: [_localise_path(path, operator) for path in store[_PATHS]]}
        for store in metadata["stateStoreInfo"]
    ]
    return {**metadata, "stateStoreInfo": stores}


def _localise_path(path: str, operator: Path) -> str:
    _, schemas, name = path.rpartition(f"/{_SCHEMAS}/")
    return f"file:{operator}{schemas}{name}" if schemas else path
