"""Secret settings reach Spark and nobody else."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.patience import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SECRETS = {
    "spark.hadoop.fs.s3a.secret.key": "tiger=in: the\\night#",
    "spark.hadoop.fs.azure.account.key.shop.example": ' tiger\'s "eyes"\n',
    "spark.hadoop.proxy.url": "http://me:tiger@proxy",
    "spark.my.passphrase": "tígér 🐯 tiger",
}
STARTED = """
import json, os, subprocess, sys
from pathlib import Path
from millstream.catalog.job_settings import JobSettings
from millstream.spark.session import OwnedSession

folder, settings = Path(sys.argv[1]), json.loads(sys.stdin.read())
session = OwnedSession(JobSettings.of(settings), 1, None, folder / "spark.log", print)
hadoop = session.spark.sparkContext._jsc.hadoopConfiguration()
listed = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
found = {
    "listed": listed,
    "submit arguments": os.environ.get("PYSPARK_SUBMIT_ARGS"),
    "conf": {key: session.spark.sparkContext.getConf().get(key) for key in settings},
    "hadoop": {key: hadoop.get(key.removeprefix("spark.hadoop.")) for key in settings},
}
session.close()
(folder / "found.json").write_text(json.dumps(found))
"""


def test_they_stand_in_no_command_line_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = tmp_path / "written"
    for folder in ("events", "local"):
        (written / folder).mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(written / "local"))
    settings = {
        **SECRETS,
        "spark.app.name": "a name of its own",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(written / "events"),
        "spark.local.dir": str(written / "local"),
    }
    command = [sys.executable, "-c", STARTED, str(written)]
    subprocess.run(command, input=json.dumps(settings), text=True, check=True, capture_output=True, timeout=PATIENCE)
    found = json.loads((written / "found.json").read_text())
    (written / "found.json").unlink()
    assert "org.apache.spark.deploy.SparkSubmit" in found["listed"]
    assert "tiger" not in found["listed"]
    assert found["submit arguments"] is None
    assert found["conf"] == settings
    assert {key: found["hadoop"][key] for key in SECRETS if ".hadoop." in key} == {
        key: value for key, value in SECRETS.items() if ".hadoop." in key
    }
    files = {str(file): file.read_bytes() for file in written.rglob("*") if file.is_file()}
    assert files
    assert {name for name, content in files.items() if b"tiger" in content} == set()
