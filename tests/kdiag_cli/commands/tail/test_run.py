"""`kdiag tail` on scripted brokers with logs."""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from pyarrow import parquet

from kdiag.client.fetch.position import PartitionKey
from kdiag.probe.tail import follower
from kdiag.wire.api.fetch import AbortedTransaction
from kdiag.wire.records.compression import crc32c
from kdiag.wire.records.record import ControlType
from programs.kdiag_program import Done, kdiag, start_kdiag
from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.scripted_broker import offering


@pytest.fixture
def cluster() -> Iterator[LogCluster]:
    """Two brokers; orders has two partitions with three records each, in turns."""
    with LogCluster(2) as cluster:
        for partition in range(2):
            log = cluster.add("orders", partition, leader=partition + 1)
            for n in range(3):
                log.append(b"%d%d" % (partition, n), timestamp=1000 + 10 * n + partition)
        yield cluster


def tail(cluster: LogCluster, *arguments: object) -> Done:
    """Run the program to its end."""
    return kdiag("tail", "-b", cluster.bootstrap, *arguments)


def start_tail(cluster: LogCluster, *arguments: object) -> "subprocess.Popen[bytes]":
    """Start the program as a process of its own; leaving its `with` block closes the pipes."""
    command = ["tail", "-b", cluster.bootstrap, *arguments]
    return start_kdiag(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def reading(program: "subprocess.Popen[bytes]") -> IO[bytes]:
    """Return what the program prints."""
    assert program.stdout is not None
    return program.stdout


def test_to_the_end_is_all_there_is(cluster: LogCluster) -> None:
    """A line for each value, nothing on stderr."""
    done = tail(cluster, "orders", "-e")
    assert sorted(done.out.split()) == ["00", "01", "02", "10", "11", "12"]
    assert (done.code, done.err) == (0, "")


def test_the_last_records_are_those_of_the_whole_topic(cluster: LogCluster) -> None:
    """In the order of time."""
    assert tail(cluster, "orders", "-o", "-3", "-e").out.split() == ["11", "02", "12"]


@pytest.mark.thorough
def test_it_ends_after_so_many(cluster: LogCluster) -> None:
    """In the middle of a batch, and of a partition."""
    log = cluster.add("payments", 0)
    log.append(*(b"%d" % n for n in range(300)))
    assert tail(cluster, "payments", "-o", "beginning", "-n", "2").out.split() == ["0", "1"]
    done = tail(cluster, "payments", "-o", "beginning", "-n", "250", "-J")
    assert [json.loads(line)["offset"] for line in done.out.splitlines()] == list(range(250))


@pytest.mark.thorough
def test_topics_and_partitions_are_chosen(cluster: LogCluster) -> None:
    """By name, by number, by pattern, with offsets of their own."""
    cluster.add("payments", 0).append(b"p")
    assert sorted(tail(cluster, "orders:1", "-e").out.split()) == ["10", "11", "12"]
    assert sorted(tail(cluster, "-t", "orders", "-p", "0", "-e").out.split()) == ["00", "01", "02"]
    assert len(tail(cluster, "*", "-e").out.split()) == 7
    assert sorted(tail(cluster, "orders:0@2,1@1", "-e").out.split()) == ["02", "11", "12"]


@pytest.mark.thorough
def test_records_are_chosen(cluster: LogCluster) -> None:
    """What is not printed does not count."""
    done = tail(cluster, "orders", "-e", "--grep", "^.1$", "-n", "2")
    assert sorted(done.out.split()) == ["01", "11"]


def test_a_format_string_makes_the_lines(cluster: LogCluster) -> None:
    """As kcat would."""
    done = tail(cluster, "orders:0", "-e", "-f", r"%t[%p]@%o %T %s\n")
    assert done.out.splitlines()[0] == "orders[0]@0 1000 00"


@pytest.mark.thorough
def test_aborted_records_are_left_out_or_marked(cluster: LogCluster) -> None:
    """With read_uncommitted nobody can tell them."""
    log = cluster.add("payments", 0)
    log.append(b"good")
    log.append(b"bad", producer_id=7, is_transactional=True)
    log.mark(7, ControlType.ABORT)
    log.aborted = [AbortedTransaction(7, 1)]
    assert tail(cluster, "payments", "-e").out.split("\n") == ["good", ""]
    assert tail(cluster, "payments", "-e", "--show-aborted").out == "-\tgood\naborted\tbad\n"
    shown = tail(cluster, "payments", "-e", "--show-aborted", "--show-control", "-J")
    lines = [json.loads(line) for line in shown.out.splitlines()]
    assert [each.get("aborted") for each in lines] == [None, True, None]
    assert [each.get("control") for each in lines] == [None, None, "ABORT"]
    last = tail(cluster, "payments", "-e", "-o", "-1")
    assert last.out == "good\n"


def test_a_parquet_file_has_a_row_a_record(cluster: LogCluster, tmp_path: Path) -> None:
    """Complete when the program has ended."""
    file = tmp_path / "orders.parquet"
    done = tail(cluster, "orders", "-e", "--output", "parquet", "--out", file)
    assert (done.code, done.out) == (0, "")
    assert sorted(parquet.read_table(file)["value"].to_pylist())[:2] == [b"00", b"01"]


def test_a_topic_that_is_not_there_leaves_no_file(cluster: LogCluster, tmp_path: Path) -> None:
    """Wrong usage, with the name that may be meant."""
    file = tmp_path / "orders.parquet"
    done = tail(cluster, "order", "-e", "--output", "parquet", "--out", file)
    assert done.code == 2
    assert "did you mean orders" in done.err
    assert not file.exists()


def test_a_wrong_batch_is_told_and_the_rest_is_printed(cluster: LogCluster) -> None:
    """The result is partial, and the code says so."""
    log = cluster.add("payments", 0)
    for value in (b"a", b"b", b"c"):
        log.append(value)
    first, after, data = log.batches[1]
    log.batches[1] = (first, after, data[:-2] + b"x" + data[-1:])
    done = tail(cluster, "payments", "-e")
    assert done.code == 8
    assert done.out == "a\nc\n"
    assert "payments[0]: unreadable at offset 1 in 3 answers, offsets 1 to 1 left out" in done.err


@pytest.mark.thorough
@pytest.mark.parametrize("is_checksum_right", [False, True])
def test_a_resume_file_does_not_pass_what_could_not_be_read(
    cluster: LogCluster, tmp_path: Path, *, is_checksum_right: bool
) -> None:
    """Unless one says so; it does not matter whose fault the damage is."""
    log = cluster.add("payments", 0)
    for value in (b"a", b"b", b"c"):
        log.append(value)
    first, after, data = log.batches[1]
    wrong = bytearray(data)
    wrong[60] += 1
    if is_checksum_right:
        wrong[17:21] = crc32c(bytes(wrong[21:])).to_bytes(4, "big")
    log.batches[1] = (first, after, bytes(wrong))
    file = tmp_path / "resume"
    for skips, resumed in (([], "payments:0@1,new\n"), (["--skip-damaged"], "payments:0@3,new\n")):
        done = tail(cluster, "payments", "-o", "beginning", "-e", "--resume-file", file, *skips)
        assert (done.code, done.out) == (8, "a\nc\n")
        assert file.read_text() == resumed
        file.unlink()


def test_an_offset_that_is_compacted_away_is_told(cluster: LogCluster) -> None:
    """The line says which offsets hold nothing; `-q` does without."""
    log = cluster.add("compact", 0)
    log.end = 5
    log.append(b"left")
    loud = tail(cluster, "compact", "-o", "2", "-e")
    quiet = tail(cluster, "compact", "-o", "2", "-e", "-q")
    assert loud.out == quiet.out == "left\n"
    assert "compact[0]: offsets 2 to 4 hold no records" in loud.err
    assert quiet.err == ""


@pytest.mark.thorough
def test_a_moment_to_come_ends_it(cluster: LogCluster) -> None:
    """Records that are not older are left out."""
    log = cluster.add("future", 0)
    log.append(b"now", timestamp=1000)
    log.append(b"later", timestamp=1 << 50)

    until = round(time.time() * 1000) + 800
    done = tail(cluster, "future", "-o", "beginning", "--until", until)
    assert (done.code, done.out) == (0, "now\n")


@pytest.mark.thorough
def test_an_interrupted_tail_says_how_to_go_on(cluster: LogCluster) -> None:
    """What it prints is what it takes: nothing is read twice, nothing is left out."""
    filters = ("--grep", "^.[0-9]$|new|added", "--key-format", "text", "-o", "e@2100-01-01")
    secret = ("-X", "sasl.password=hush", "-X", "client.id=a b")
    with start_tail(cluster, "orders", "-o", "s@0", *filters, *secret) as program:
        lines = [reading(program).readline() for _ in range(6)]
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=60)
    assert program.returncode == 130
    assert len(lines) == 6
    said = err.decode().splitlines()[-1]
    head, line = said.split("kdiag tail ")
    assert head == "kdiag: stopped; to go on from here: "
    words = shlex.split(line)
    assert words == [
        "orders:0@3,1@3,new",
        *("-b", cluster.bootstrap),
        *("--grep", "^.[0-9]$|new|added", "--key-format", "text"),
        *("-X", "client.id=a b"),
        *("-o", "e@4102444800000"),
    ]

    cluster.logs[PartitionKey("orders", 0)].append(b"new")
    cluster.add("orders", 2).append(b"added")

    resumed = kdiag("tail", *words, "-n", "2")
    assert sorted(resumed.out.split()) == ["added", "new"]


def test_partitions_that_nobody_leads_are_to_be_gone_on_with(
    cluster: LogCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever does reads them, too, from where this one would have."""
    monkeypatch.setattr(follower, "PATIENCE_NS", 0)
    cluster.logs[PartitionKey("orders", 1)].leader = -1
    file = tmp_path / "orders.offsets"
    done = tail(cluster, "orders", "-o", "beginning", "-n", "3", "--resume-file", file)
    assert done == Done(0, "00\n01\n02\n", "kdiag: orders[1]: no leader that answers\n")
    assert file.read_text() == "orders:0@3,1@beginning,new\n"


@pytest.mark.thorough
def test_a_file_says_where_to_go_on(cluster: LogCluster, tmp_path: Path) -> None:
    """The same command over and over prints each record once, also of partitions that are added."""
    file = tmp_path / "orders.offsets"
    command = ["orders", "-e", "--resume-file", file]
    assert len(tail(cluster, *command).out.split()) == 6
    assert file.read_text() == "orders:0@3,1@3,new\n"
    cluster.logs[PartitionKey("orders", 0)].append(b"new")
    cluster.add("orders", 2).append(b"added")
    assert tail(cluster, *command, "-n", "1").out in {"new\n", "added\n"}
    assert tail(cluster, *command[1:]).out in {"new\n", "added\n"}
    assert tail(cluster, *command) == Done(0, "", "")
    assert file.read_text() == "orders:0@4,1@3,2@1,new\n"


def test_a_file_that_is_of_no_use_is_told(cluster: LogCluster, tmp_path: Path) -> None:
    """It is about other topics, is none, or cannot be written."""
    file = tmp_path / "offsets"
    file.write_text("payments:0@3\n")
    done = tail(cluster, "orders", "-e", "--resume-file", file)
    assert (done.code, done.out) == (2, "")
    assert "it is about payments, which is not among the topics" in done.err
    file.write_bytes(b"\xff")
    assert "cannot be read" in tail(cluster, "orders", "--resume-file", file).err
    nowhere = tmp_path / "not there" / "offsets"
    done = tail(cluster, "orders", "--resume-file", nowhere)
    assert (done.code, done.out) == (2, "")
    assert "there is no folder" in done.err


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_brokers_with_records_of_another_form_are_refused_at_once(
    cluster: LogCluster, isolation: str
) -> None:
    """Those before Kafka 0.11: never empty, and never without a leader."""
    old = offering(ListOffsets=(0, 1), Fetch=(0, 3))
    cluster.on("ApiVersions", old)
    done = tail(cluster, "orders", "-o", "beginning", "-e", "--isolation", isolation)
    assert (done.code, done.out) == (7, "")
    assert "older than Kafka 0.11" in done.err
    assert "leader" not in done.err


@pytest.mark.thorough
def test_a_reader_who_has_paused_does_not_keep_it_from_ending(cluster: LogCluster) -> None:
    """It stops inside a write, and says what was written for certain."""
    log = cluster.add("large", 0)
    for _ in range(80):
        log.append(b"x" * 50_000)
    cluster.max_batches = 4
    with start_tail(cluster, "large", "-o", "beginning") as program:
        reading(program).read(1)  # so it has begun to write, and will fill the pipe
        program.send_signal(signal.SIGINT)
        assert program.wait(60) == 130
        assert program.stderr is not None
        assert b"kdiag tail large:0@" in program.stderr.read()


@pytest.mark.thorough
def test_time_that_is_up_is_told(cluster: LogCluster) -> None:
    """Exit code 6; how to go on is told as after Ctrl-C, if there is time for that."""
    with start_tail(cluster, "orders", "-o", "end", "--timeout", "2s") as program:
        out, err = program.communicate(timeout=60)
    assert (program.returncode, out) == (6, b"")
    assert b"gave up after 2 s" in err


@pytest.mark.thorough
@pytest.mark.parametrize("value_bytes", [10, 20_000])
def test_a_reader_that_has_gone_ends_it_without_a_word(
    cluster: LogCluster, value_bytes: int
) -> None:
    """As with `head`: in the middle of a write, and while there is nothing left to write."""
    log = cluster.add("large", 0)
    for _ in range(100):
        log.append(b"x" * value_bytes)
    with start_tail(cluster, "large", "-o", "beginning") as program:
        reading(program).read(10)
        reading(program).close()
        assert program.stderr is not None
        assert program.stderr.read() == b""
        assert program.wait(60) == 0


@pytest.mark.thorough
def test_values_alone_load_no_numpy(cluster: LogCluster) -> None:
    """It takes longer to load than most tails take to read."""
    cluster.add("many", 0).append(*(b"v" for _ in range(1000)))
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: sys.stderr.write(str('numpy' in sys.modules)))\n"
        "from kdiag_cli.__main__ import main\n"
        f"sys.argv[1:] = ['tail', '-b', {cluster.bootstrap!r}, 'many', '-e']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"v\n" * 1000
    assert done.stderr == b"False"


@pytest.mark.thorough
def test_a_topic_to_come_is_waited_for(cluster: LogCluster) -> None:
    """It is said once; what the topic has when it comes is printed."""
    with start_tail(cluster, "soon", "--wait", "-n", "1") as program:
        assert program.stderr is not None
        said = program.stderr.readline()
        cluster.add("soon", 0).append(b"first")
        out, err = program.communicate(timeout=60)
    assert said == b"kdiag: soon: the topic does not exist; waiting for it\n"
    assert (program.returncode, out, err) == (0, b"first\n", b"")
