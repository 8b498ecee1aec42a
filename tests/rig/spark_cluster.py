"""A cluster of Spark on this machine, from the pip package: each of its parts is a process."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pyspark

_HOME: Final = Path(pyspark.__file__).parent
_CLASS: Final = "org.apache.spark.deploy"
_EXECUTOR: Final = b"CoarseGrainedExecutorBackend"
_HOST: Final = "127.0.0.1"
_DEADLINE_S: Final = 180


class SparkCluster:
    """A running cluster.

    Attributes:
        master: its URL.
    """

    def __init__(self, master: str, workers: list[int]) -> None:
        self.master = master
        self._workers = workers

    def kill_executor(self) -> bool:
        """Kill an executor as if its machine had gone; false if none runs."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
                is_executor = _EXECUTOR in (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if is_executor and parent in self._workers:
                os.kill(int(folder.name), signal.SIGKILL)
                return True
        return False


@contextmanager
def spark_cluster(folder: Path, workers: int) -> Iterator[SparkCluster]:
    """Run a cluster of workers with a core each, whose files go into a folder."""
    port, web_port = _free_port(), _free_port()
    url = f"spark://{_HOST}:{port}"
    started = []
    try:
        started.append(_start(folder, "master.Master", "--port", port, "--webui-port", web_port))
        for number in range(workers):
            place = folder / f"work-{number}"
            options = ("--cores", 1, "--memory", "1500m", "--work-dir", place)
            free = ("--port", _free_port(), "--webui-port", _free_port())
            started.append(_start(folder, "worker.Worker", url, *free, *options))
        _await(web_port, workers)
        yield SparkCluster(url, [process.pid for process in started[1:]])
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def _start(folder: Path, name: str, *arguments: object) -> "subprocess.Popen[bytes]":
    environment = {
        **os.environ,
        "SPARK_HOME": str(_HOME),
        "SPARK_LOCAL_IP": _HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(folder / "scratch"),
    }
    command = [_HOME / "bin" / "spark-class", f"{_CLASS}.{name}", "--host", _HOST, *arguments]
    with (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            list(map(str, command)), env=environment, stdout=log, stderr=log, cwd=folder
        )


def _await(web_port: int, workers: int) -> None:
    """Wait until all workers have come.

    Raises:
        TimeoutError: they do not.
    """
    deadline = time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline:
        try:
            with urlopen(f"http://{_HOST}:{web_port}/json/", timeout=5) as answer:
                if json.load(answer)["aliveworkers"] == workers:
                    return
        except OSError:
            pass
        time.sleep(0.2)
    raise TimeoutError("the workers of Spark's cluster did not come")


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind((_HOST, 0))
        port: int = opened.getsockname()[1]
        return port
