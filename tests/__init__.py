"""Every test, against a real broker and a real Spark."""

import os
from pathlib import Path

# A test's JVMs live for seconds: the quick compiler alone takes a third off their processor time.
os.environ["JDK_JAVA_OPTIONS"] = f"{os.environ.get('JDK_JAVA_OPTIONS', '')} -XX:TieredStopAtLevel=1".strip()
# See sitecustomize there.
_INTERPRETER = str(Path(__file__).parent / "interpreter")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_INTERPRETER, os.environ.get("PYTHONPATH"))))
