"""The pipeline where files or Spark are elsewhere: a cluster, an object store, Spark Connect."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from folders import CAPTURES
from kdiag.pipeline.session import missing
from programs.child_program import ChildProgram
from programs.kdiag_program import kdiag, kdiag_apart, start_kdiag
from recordings.capture_sets import recorded_sets
from spark_runs.class_archive import java_options
from spark_runs.pipeline_parts import comparable, in_one_process, read_tables
from tiers.sampling import IS_CI, sample

if TYPE_CHECKING:
    from spark_runs.spark_cluster import SparkCluster

TABLES = ("exchanges", "batches", "connections", "gaps")
ANSWER = "SELECT api, count(*) AS n FROM exchanges GROUP BY api ORDER BY api"

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(bool(missing()) and not IS_CI, reason=missing()),
]


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the URL of a bucket in an S3 server of this machine, which AWS_ENDPOINT_URL names."""
    if not IS_CI:
        pytest.importorskip("moto.server")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    for name, value in {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (
        (tmp_path / "s3.log").open("w") as log,
        ChildProgram(command, stdout=log, stderr=log) as server,
    ):
        assert server.lasts_until(lambda: answers(url))
        put(f"{url}/captures")
        yield f"{url}/captures"
        server.kill()


def put(url: str, data: bytes = b"") -> None:
    """Create a bucket, or an object in one."""
    kind = {"Content-Type": "application/octet-stream"}  # a form would be read twice
    with urlopen(Request(url, data, kind, method="PUT"), timeout=30) as answer:
        assert answer.status == HTTPStatus.OK


def answers(url: str) -> bool:
    """Return whether a server is there."""
    try:
        with urlopen(url, timeout=1):
            return True
    except (URLError, OSError):
        return False


def test_captures_and_tables_may_lie_in_an_object_store(bucket: str, tmp_path: Path) -> None:
    """They are found by wildcards, by any name of the store, and asked without Spark."""
    names = ("acks", "rebalance")
    for name in names:
        put(f"{bucket}/in/{name}.pcap", (CAPTURES / f"{name}.pcap").read_bytes())
    out, folder = "s3://captures/tables", tmp_path / "tables"
    done = kdiag_apart(
        *("pipeline", "run", "s3a://captures/in/*.pcap", "--out", out),
        *("--master", "local[2]", "--conf", "spark.driver.memory=1g"),
    )
    assert (done.code, done.err) == (0, "")
    captures = [CAPTURES / f"{name}.pcap" for name in names]
    kdiag("decode", *captures, "-o", "parquet", "--out", folder)
    for arguments in (("query", "{}", ANSWER), ("report", "clients", "{}")):
        here, there = (
            kdiag_apart(*(each.format(place) for each in arguments), "-o", "csv")
            for place in (folder, out)
        )
        assert (there.code, there.out) == (0, here.out)
    refused = kdiag_apart("query", "s3://captures/in/acks.pcap", ANSWER)
    assert (refused.code, "are read by kdiag pipeline run" in refused.err) == (2, True)
    streamed = "s3://captures/streamed"
    done = kdiag_apart(
        *("pipeline", "stream", "s3://captures/in", "--out", streamed),
        *("--checkpoint", tmp_path / "checkpoint"),
        *("--once", "--close", "--quiet", "0s", "--parts", 1),
        *("--master", "local[2]", "--conf", "spark.driver.memory=1g"),
    )
    assert done.code == 0, done.err
    for question in (ANSWER, "SELECT count(*) AS n FROM members"):
        here, there = (
            kdiag_apart("query", each, question, "-o", "csv") for each in (out, streamed)
        )
        assert (there.code, there.out) == (0, here.out)


PROGRAM = """
import sys
from pyspark.sql import SparkSession
from kdiag import spark as captures
from kdiag.errors import CaptureError

spark = SparkSession.builder.remote("local[2]").getOrCreate()
capture, staging = sys.argv[1:]
exchanges = captures.exchanges(spark, capture, columns=["api", "run"], staging=staging)
connections = spark.read.format("kdiag").option("table", "connections").load(capture)
print(exchanges.columns, exchanges.count(), connections.count())
try:
    captures.gaps(spark, "here.pcap")
except CaptureError as error:
    print(error)
"""


def test_tables_are_dataframes_on_spark_connect_too(tmp_path: Path) -> None:
    """Where the client has neither the files nor the cores of the server."""
    pytest.importorskip("grpc")
    capture = CAPTURES / "rebalance.pcap"
    tables = in_one_process([capture])
    exchanges, connections = (
        sum(batch.num_rows for batch in tables[name]) for name in ("exchanges", "connections")
    )
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(capture), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    counts, refusal = done.stdout.splitlines() or (done.stderr, "")

    assert counts == f"['api', 'run'] {exchanges} {connections}"
    assert refusal.startswith("here.pcap: is relative, and Spark runs elsewhere")


def wait_and_kill(process: ChildProgram, cluster: "SparkCluster", out: Path) -> bool:
    """Wait for a run; kill an executor once tasks have begun to write. Return whether that was."""

    def is_hit() -> bool:
        return any(out.glob("_runs/*.staging/*")) and cluster.kill_executor()

    is_killed = process.lasts_until(is_hit)
    process.wait()
    return is_killed


def test_a_cluster_gives_the_rows_of_one_process_though_an_executor_is_killed(
    tmp_path: Path,
) -> None:
    """Its tasks are done again elsewhere, and nothing that it wrote counts."""
    from spark_runs.spark_cluster import spark_cluster  # noqa: PLC0415 - pyspark may be missing

    sets = [each for each in recorded_sets() if not each.keylog]
    drawn = sample("captures on a cluster", sets, 5)
    files = [file for each in drawn for file in each.files]
    (tmp_path / "cluster").mkdir()
    with spark_cluster(tmp_path / "cluster", 2) as cluster:
        arguments = ["pipeline", "run", *files, "--out", tmp_path / "out", "--parts", 4]
        arguments += ["--master", cluster.master, "--conf", "spark.executor.memory=1g"]
        arguments += ["--conf", "spark.driver.memory=1g", "--conf", "spark.driver.host=127.0.0.1"]
        arguments += ["--conf", f"spark.executor.extraJavaOptions={java_options()}"]
        process = start_kdiag(*arguments)
        is_killed = wait_and_kill(process, cluster, tmp_path / "out")

    assert is_killed
    assert process.returncode in (0, 8)
    found, expected = read_tables(tmp_path / "out"), in_one_process(files)
    for name in TABLES:
        assert comparable(found[name]) == comparable(expected[name]), name
