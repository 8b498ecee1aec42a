"""Kafka's jars on this machine, by Maven, and Java programs run with them.

`jars("4.3.1")` returns a folder of jars and fetches it on first use. The folders are kept below
`$KDIAG_KAFKA_LIB`, or below `.kafka/` of the repository (ignored by git). Run as a program, it
fetches all versions.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from folders import ROOT
from real_kafka.releases import VERSIONS, release

_RIG: Final = Path(__file__).parent
_FETCH_TIMEOUT_S: Final = 600


class UnavailableError(Exception):
    """This machine lacks something that the rig needs; the text says what."""


def require_programs(*programs: str) -> None:
    """Check that programs are on the path.

    Raises:
        UnavailableError: naming those that are missing.
    """
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise UnavailableError(f"not installed: {', '.join(missing)}")


def library_folder() -> Path:
    """Return where the jars of all versions are kept."""
    named = os.environ.get("KDIAG_KAFKA_LIB")
    return Path(named) if named else ROOT / ".kafka"


def jars(version: str) -> Path:
    """Return the folder with the jars of a Kafka version (one of `releases.VERSIONS`).

    Raises:
        UnavailableError: if Java or Maven is missing, or Maven cannot fetch.
    """
    require_programs("java")
    folder = library_folder().resolve() / version
    if not folder.is_dir():
        _fetch(version, folder)
    return folder


def class_archive(folder: Path) -> Path:
    """Return where the archive of the classes in `folder` is, though it may not be there."""
    return folder.parent / "classes" / f"{folder.name}.jsa"


def archive_options(folder: Path) -> list[str]:
    """Return the options that have Java begin with the archive of classes, if it is there."""
    archive = class_archive(folder)
    if not archive.is_file():
        return []
    quiet = ("-Xlog:disable", "-Xlog:all=off")  # one that does not fit is passed over in silence
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", *quiet]


def java_command(
    folder: Path, program: str, *arguments: str, is_measured: bool = False
) -> list[str]:
    """Return the command that runs a class, or a single source file, with the jars of `folder`.

    Args:
        folder: of the jars.
        program: the class, or the source file.
        arguments: of the program.
        is_measured: whether its speed matters; others do not live long enough for the better
            compiler, which takes half of their CPU time.
    """
    compiler = () if is_measured else ("-XX:TieredStopAtLevel=1",)
    options = ("-XX:+UseSerialGC", *compiler, *archive_options(folder))
    return ["java", *options, "-cp", f"{folder}/*", program, *arguments]


def _fetch(version: str, folder: Path) -> None:
    """Have Maven copy the jars; the folder appears whole or not at all, whoever else fetches."""
    require_programs("mvn")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as scratch:
        fetched = Path(scratch) / version
        _run_maven(
            "dependency:copy-dependencies",
            f"-Dkv={version}",
            f"-Dtools={release(version).tools}",
            f"-DoutputDirectory={fetched}",
        )
        try:
            fetched.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise


def _run_maven(*arguments: str) -> None:
    """Run Maven on the rig's pom.

    Raises:
        UnavailableError: with the end of what Maven said.
    """
    try:
        done = subprocess.run(
            ["mvn", "-q", "-B", "-f", str(_RIG / "pom.xml"), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_FETCH_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"Maven took more than {_FETCH_TIMEOUT_S} s") from None
    if done.returncode:
        raise UnavailableError(f"Maven cannot fetch Kafka: {(done.stdout + done.stderr)[-1000:]}")


if __name__ == "__main__":
    for each in VERSIONS:
        sys.stdout.write(f"{jars(each)}\n")
