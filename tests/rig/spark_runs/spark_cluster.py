"""A cluster of Spark on this machine, from the pip package: each of its parts is a process."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Final

import pyspark

from real_kafka.kafka_cluster import free_port_numbers
from spark_runs.class_archive import java_options

SPARK_HOME: Final = Path(pyspark.__file__).parent
_CLASS: Final = "org.apache.spark.deploy"
_EXECUTOR: Final = b"CoarseGrainedExecutorBackend"
_HOST: Final = "127.0.0.1"
_DEADLINE_S: Final = 180
_HAS_COME: Final = b"Successfully registered with master"


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
    ports = iter(free_port_numbers(2 + 2 * workers))
    port, web_port = next(ports), next(ports)
    url = f"spark://{_HOST}:{port}"
    started: list[subprocess.Popen[bytes]] = []
    come: list[Event] = []
    try:
        started.append(_start(folder, "master.Master", "--port", port, "--webui-port", web_port))
        _watch(started[0], folder / "master.log")
        for number in range(workers):
            place = folder / f"work-{number}"
            options = ("--cores", 1, "--memory", "1500m", "--work-dir", place)
            free = ("--port", next(ports), "--webui-port", next(ports))
            started.append(_start(folder, "worker.Worker", url, *free, *options))
            come.append(_watch(started[-1], folder / f"worker-{number}.log"))
        if not all(each.wait(_DEADLINE_S) for each in come):
            raise TimeoutError("the workers of Spark's cluster did not come")
        yield SparkCluster(url, [process.pid for process in started[1:]])
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def _start(folder: Path, name: str, *arguments: object) -> "subprocess.Popen[bytes]":
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": _HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": java_options(),
        "SPARK_LOCAL_DIRS": str(folder / "scratch"),
    }
    command = [SPARK_HOME / "bin" / "spark-class", f"{_CLASS}.{name}", "--host", _HOST, *arguments]
    return subprocess.Popen(
        list(map(str, command)),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
    )


def _watch(process: "subprocess.Popen[bytes]", log: Path) -> Event:
    """Keep what a process prints, and return what is set once it is a worker of the master."""
    has_come = Event()

    def read() -> None:
        assert process.stdout is not None
        with process.stdout as lines, log.open("wb") as kept:
            for line in lines:
                kept.write(line)
                if _HAS_COME in line:
                    has_come.set()

    Thread(target=read, daemon=True).start()
    return has_come
