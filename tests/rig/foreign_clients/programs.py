"""The foreign clients as commands; those in Go and JavaScript are built once, below `.foreign/`.

command("franz-go") + [bootstrap, name, "records"]
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from folders import ROOT
from real_kafka import kafka_jars
from real_kafka.releases import USUAL

_HERE: Final = Path(__file__).parent
_BUILD_TIMEOUT_S: Final = 300
_JVM: Final = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
)


def folder() -> Path:
    """Return where what is built is kept."""
    named = os.environ.get("KDIAG_FOREIGN")
    return Path(named) if named else ROOT / ".foreign"


def _python(name: str) -> list[str]:
    return [sys.executable, "-W", "ignore", "-m", f"foreign_clients.{name}"]


def _java() -> list[str]:
    jars = kafka_jars.jars(USUAL)
    return ["java", *_JVM, "-cp", f"{jars}/*", str(_HERE / "Matrix.java")]


def _franz() -> list[str]:
    return [str(build_go("franz", _HERE / "franz"))]


def build_go(name: str, source: Path) -> Path:
    """Return a program in Go, which is built where its source is newer.

    Raises:
        UnavailableError: if there is no Go, or it cannot build.
    """
    kafka_jars.require_programs("go")
    program = folder() / name
    if _is_stale(program, source):
        program.parent.mkdir(parents=True, exist_ok=True)
        _build(["go", "build", "-o", str(program.resolve()), "."], source)
    return program


def _kafkajs() -> list[str]:
    kafka_jars.require_programs("node", "npm")
    place = folder() / "kafkajs"
    place.mkdir(parents=True, exist_ok=True)
    source = _HERE / "kafkajs"
    if _is_stale(place / "node_modules", source):
        shutil.copy(source / "package.json", place)
        _build(
            [
                "npm",
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--no-package-lock",
                "--ignore-scripts",
            ],
            place,
        )
    shutil.copy(source / "matrix.mjs", place)
    return ["node", "--no-deprecation", str(place / "matrix.mjs")]


CLIENTS: Final[Mapping[str, Callable[[], list[str]]]] = {
    "librdkafka": lambda: _python("librdkafka"),
    "kafka-python": lambda: _python("kafka_python"),
    "aiokafka": lambda: _python("aio"),
    "java": _java,
    "franz-go": _franz,
    "kafkajs": _kafkajs,
}
"""How each is started; what is missing is said by an UnavailableError."""


def _is_stale(made: Path, source: Path) -> bool:
    newest_s = max(each.stat().st_mtime for each in source.iterdir())
    return not made.exists() or made.stat().st_mtime < newest_s


def _build(arguments: list[str], place: Path) -> None:
    done = subprocess.run(
        arguments, cwd=place, capture_output=True, text=True, timeout=_BUILD_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise kafka_jars.UnavailableError(f"{arguments[0]} cannot build: {done.stderr[-500:]}")


def kcat() -> str:
    """Return the program kcat.

    Raises:
        UnavailableError: if it is not installed.
    """
    kafka_jars.require_programs("kcat")
    return "kcat"


if __name__ == "__main__":
    for make in CLIENTS.values():
        make()
