"""An archive of the classes that Spark's driver loads, which halves the time it takes to start.

Run as a program, it makes the archive, below `.kafka/` (ignored by git), as `.ci/run` does:

    PYTHONPATH=tests/rig python -m spark_runs.class_archive

All tests use it if it is there. It serves the Java and the PySpark that it was made with; with
others Java ignores it.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from folders import ROOT

_SUBMIT_ARGS: Final = "PYSPARK_SUBMIT_ARGS"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_QUICK: Final = "-XX:TieredStopAtLevel=1"
"""Drivers of tests do not live long enough for the better compiler."""
_QUIET: Final = "-Xlog:disable -Xlog:all=off"
_TIMEOUT_S: Final = 300


def archive() -> Path:
    """Return where the archive of this PySpark is, though it may not be there."""
    spec = find_spec("pyspark")
    home = spec.origin if spec is not None else None
    digest = sha256(str(home).encode()).hexdigest()[:12]
    return ROOT / ".kafka" / "spark" / f"{digest}.jsa"


def use() -> None:
    """Have every driver that is started from here on begin with the archive, if it is there."""
    os.environ.setdefault(_SUBMIT_ARGS, _submit_args(java_options()))


def java_options() -> str:
    """Return the options of Java with which the parts of Spark start quickly."""
    if not archive().is_file():
        return _QUICK
    return f"{_QUICK} -XX:SharedArchiveFile={archive()} -Xshare:auto {_QUIET}"


def _submit_args(options: str) -> str:
    return shlex.join(["--conf", f"{_JAVA_OPTIONS}={options}", "pyspark-shell"])


def main() -> None:
    """Make the archive: Java writes it at the end of a small run of the pipeline."""
    path = archive()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    options = f"{_QUICK} -XX:ArchiveClassesAtExit={path} {_QUIET}"
    environment = {**os.environ, _SUBMIT_ARGS: _submit_args(options)}
    kdiag = Path(sys.executable).with_name("kdiag")
    capture = ROOT / "captures" / "acks.pcap"
    with tempfile.TemporaryDirectory() as folder:
        command = [str(kdiag), "pipeline", "run", str(capture), "--out", folder]
        subprocess.run(
            command, env=environment, check=True, capture_output=True, timeout=_TIMEOUT_S
        )
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
