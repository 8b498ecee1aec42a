"""Measures `kdiag report --html` against `kdiag decode --output parquet`, in turns.

    python tests/bench/tables/page.py .kafka/bench/large.pcap [--rounds 5]
    python tests/bench/tables/page.py --exchanges 10000000

With a capture, such as those of `record_load.py`: the wall time and the peak memory of the page,
and of the tables with their bodies, in turns. Ends with 1 if the page takes more than twice the
time, or 500 MB. The first page, which has the script of its charts made, is measured apart, before
the others.

With `--exchanges` it makes tables of so many exchanges (of 300 clients, 20 brokers, 12 APIs and 50
topics over a day) and says how large their page is, how long it takes, and with how much memory.
Ends with 1 if it has more than 5 MB, or takes 500 MB of memory.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
from pyarrow import parquet

from kdiag.report.arrow import arrow_schema
from kdiag.report.tables.catalog import TABLES

KDIAG: Final = str(Path(sys.executable).with_name("kdiag"))
MOST_MB: Final = 500
MOST_PAGE_BYTES: Final = 5_000_000
MOST_TIMES: Final = 2
_PARTIAL: Final = 8
_SYNTHETIC: Final = """
SELECT
    i AS number,
    make_timestamptz(t // 1000) AS time,
    t AS time_ns,
    i % 900 AS connection,
    'tcp-' || (i % 900) AS connection_id,
    host || ':' || (40000 + i % 900) AS client,
    host AS client_host,
    '10.1.0.' || (i % 20) || ':9092' AS broker,
    'client-' || (i % 300) AS client_id,
    k AS api_key,
    (['Produce', 'Fetch', 'ListOffsets', 'Metadata', 'OffsetCommit', 'OffsetFetch', 'Heartbeat',
        'JoinGroup', 'SyncGroup', 'FindCoordinator', 'ApiVersions', 'ListGroups'])[k + 1] AS api,
    9 AS version,
    i AS correlation_id,
    'ok' AS status,
    exp(5 + 2 * random()) AS latency_us,
    CASE WHEN i % 1000 = 0 THEN 'NOT_COORDINATOR' END AS error,
    CASE WHEN k = 1 THEN -1 END AS replica_id,
    ['topic-' || (i % 50)] AS topics,
    CAST([] AS VARCHAR[]) AS groups,
    'ok' AS request_status,
    t AS request_first_byte_ns,
    t AS request_last_byte_ns,
    200 + i % 1000 AS request_bytes,
    1 AS request_segments,
    0 AS request_starts_in_segment_with,
    '{"acks":-1,"number":' || i || '}' AS request_body,
    t + 1000000 AS response_last_byte_ns,
    300 AS response_bytes,
    1 AS response_segments,
    0 AS response_starts_in_segment_with,
    '{"throttleTimeMs":0}' AS response_body
FROM (
    SELECT
        range AS i,
        CAST(range % 12 AS INTEGER) AS k,
        1767323045000000000 + range * (86400000000000 // $count) AS t,
        '10.0.' || (range % 3) || '.' || (range % 100) AS host
    FROM range($count)
)
"""
_BATCHES: Final = """
SELECT
    connection_id, time, time_ns, correlation_id, client, client_host, broker, client_id, api,
    version,
    0 AS batch_index, -1 AS acks, replica_id, topics[1] AS topic, number % 12 AS partition,
    10 AS record_count, 5000 AS size_bytes, 2 AS magic, 'lz4' AS compression
FROM made WHERE api IN ('Produce', 'Fetch')
"""


class Run(NamedTuple):
    """One run: how long it took, how long cores were busy, and how much memory it had."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def run(*arguments: str) -> Run:
    """Run kdiag, with all that it starts.

    Raises:
        SystemExit: if it fails.
    """
    begun_s = time.monotonic()
    started = subprocess.Popen(
        [KDIAG, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode not in {0, _PARTIAL}:
        raise SystemExit(f"kdiag {' '.join(arguments)} ended with {started.returncode}")
    wall_s, cpu_s = time.monotonic() - begun_s, usage.ru_utime + usage.ru_stime
    return Run(round(wall_s, 2), round(cpu_s, 2), round(usage.ru_maxrss * 1024 / 1e6))


def compare(capture: str, rounds: int) -> bool:
    """Print what page and tables of a capture take; return whether the goals are met."""
    runs: dict[str, list[Run]] = {"page": [], "tables": []}
    with tempfile.TemporaryDirectory() as folder:
        page = ("report", "--html", f"{folder}/page.html", capture)
        tables = ("decode", capture, "--output", "parquet", "--out", f"{folder}/tables")
        os.environ["XDG_CACHE_HOME"] = f"{folder}/caches"
        tell("first page", [run(*page)])
        for _ in range(rounds):
            runs["tables"].append(run(*tables))
            runs["page"].append(run(*page))
        size = Path(folder, "page.html").stat().st_size
    for name, each in runs.items():
        tell(name, each)
    times = median(runs["page"]) / median(runs["tables"])
    peak_mb = max(each.peak_mb for each in runs["page"])
    say({"times_as_long": round(times, 2), "page_bytes": size, "peak_mb": peak_mb})
    return times < MOST_TIMES and peak_mb < MOST_MB


def make_tables(folder: Path, exchanges: int) -> None:
    """Write tables of made exchanges."""
    database = duckdb.connect(config={"memory_limit": "2GB", "temp_directory": str(folder / "tmp")})
    folder.mkdir(exist_ok=True)
    database.execute(f"CREATE TABLE made AS {_SYNTHETIC}", {"count": exchanges})
    for name, sql in (("exchanges", "FROM made"), ("batches", _BATCHES)):
        empty = arrow_schema(TABLES[name]).empty_table()
        database.register("shape", empty)
        rows = f"FROM shape UNION ALL BY NAME {sql}"
        database.execute(f"COPY ({rows}) TO '{folder}/{name}.parquet' (FORMAT parquet)")
        database.unregister("shape")
    for name, table in TABLES.items():
        if name not in {"exchanges", "batches", "records"}:
            parquet.write_table(arrow_schema(table).empty_table(), folder / f"{name}.parquet")
    database.close()


def measure_many(exchanges: int) -> bool:
    """Print what a page of many exchanges takes; return whether the goal is met."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with ProcessPoolExecutor(1) as apart:  # a program's peak memory starts with its parent's
            apart.submit(make_tables, folder / "tables", exchanges).result()
        done = run("report", "--html", f"{folder}/page.html", f"{folder}/tables")
        size = (folder / "page.html").stat().st_size
    say({"exchanges": exchanges, **done._asdict(), "page_bytes": size})
    return size < MOST_PAGE_BYTES and done.peak_mb < MOST_MB


def median(runs: list[Run]) -> float:
    """Return the median of their wall times."""
    return statistics.median(each.wall_s for each in runs)


def tell(name: str, runs: list[Run]) -> None:
    """Print the median of some runs."""
    busy = statistics.median(each.cpu_s for each in runs)
    peak_mb = max(each.peak_mb for each in runs)
    say({"of": name, "wall_s": median(runs), "cpu_s": busy, "peak_mb": peak_mb})


def say(document: dict[str, object]) -> None:
    """Print a line."""
    sys.stdout.write(f"{json.dumps(document)}\n")
    sys.stdout.flush()


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description="Measure kdiag report --html.")
    parser.add_argument("capture", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--exchanges", type=int)
    given = parser.parse_args()
    met = [] if given.capture is None else [compare(given.capture, given.rounds)]
    if given.exchanges:
        met.append(measure_many(given.exchanges))
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
