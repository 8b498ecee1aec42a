import fcntl
import json
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from folders import ROOT
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kdiag.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kdiag_cli.commands.decode.options import DecodeOptions
from kdiag_cli.commands.decode.run import run
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs
from programs.child_program import ChildProgram
from programs.kdiag_program import kdiag
from recordings.exchange_maker import capture_of, make_batch, request_bytes, response_bytes

GROUP = ROOT / "captures" / "produce_consume_group.pcap"
PROGRAM = (
    "import sys; sys.path[:0] = sys.argv.pop(1).split(':');"
    " from kdiag_cli.__main__ import main; main()"
)
ID = bytes(15) + b"\x09"


def start(*arguments: str) -> ChildProgram:
    """Start the program `kdiag` with pipes."""
    command = [sys.executable, "-c", PROGRAM, f"{ROOT}:{ROOT / 'cmd'}", *arguments]
    pipe = subprocess.PIPE
    return ChildProgram(command, stdin=pipe, stdout=pipe, stderr=pipe)


def write_capture(folder: Path, *frames: tuple[bool, bytes]) -> str:
    """Return the name of a capture of one connection."""
    file = folder / "made.pcap"
    file.write_bytes(capture_of(frames))
    return str(file)


def late_name(folder: Path) -> str:
    """Return a capture in which a fetch comes before the name of its topic."""
    asked = FetchRequest(topics=[FetchTopic(topic_id=ID, partitions=[FetchPartition(0)])])
    partition = PartitionData(records=make_batch(b"value"))
    answered = FetchResponse(responses=[FetchableTopicResponse("", ID, [partition])])
    topic = MetadataResponseTopic(name="orders", topic_id=ID)
    return write_capture(
        folder,
        (False, request_bytes(asked, 13)),
        (True, response_bytes(answered, 13)),
        (False, request_bytes(MetadataRequest(), 12, correlation_id=8)),
        (True, response_bytes(MetadataResponse(topics=[topic]), 12, correlation_id=8)),
    )


def test_a_name_that_comes_later_is_known_from_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file is looked through when the first id without a name turns up; the order stays."""
    assert run(DecodeOptions(inputs=CaptureInputs([late_name(tmp_path)]))) is ExitCode.DONE
    fetch, metadata = capsys.readouterr().out.splitlines()
    assert "Fetch v13" in fetch
    assert "orders[0@0]" in fetch
    assert "Metadata v12" in metadata


@pytest.mark.thorough
def test_in_a_pipe_an_exchange_waits_for_its_name(tmp_path: Path) -> None:
    """It cannot be read twice, so the line comes after the one that tells the name."""
    program = start("decode", "-")
    out, err = program.communicate(Path(late_name(tmp_path)).read_bytes())
    assert (program.returncode, err) == (0, b"")
    fetch, metadata = out.decode().splitlines()
    assert "orders[0@0]" in fetch
    assert "Metadata v12" in metadata


@pytest.mark.thorough
def test_a_frame_that_is_cut_or_malformed_makes_the_result_partial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 8, if the exchange is one of those that were asked for."""
    broken = request_bytes(HeartbeatRequest(group_id="g"), 3)[:-1]
    answer = response_bytes(HeartbeatResponse(), 3)
    capture = write_capture(tmp_path, (False, broken), (True, answer))
    assert run(DecodeOptions(inputs=CaptureInputs([capture]))) is ExitCode.PARTIAL
    assert run(DecodeOptions(inputs=CaptureInputs([capture]), show=1)) is ExitCode.PARTIAL
    assert run(DecodeOptions(inputs=CaptureInputs([capture]), summary=True)) is ExitCode.PARTIAL
    assert "malformed" in capsys.readouterr().out


def test_a_file_that_ends_early_is_told_and_partial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything before its end is printed."""
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(GROUP.read_bytes()[:9_000])
    assert run(DecodeOptions(inputs=CaptureInputs([str(cut)]))) is ExitCode.PARTIAL
    out, err = capsys.readouterr()
    assert len(out.splitlines()) > 5
    assert err.startswith(f"kdiag: {cut}, byte")


def test_a_file_that_cannot_be_read_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what is wrong."""
    for file in (tmp_path / "missing", ROOT / "README.md"):
        assert run(DecodeOptions(inputs=CaptureInputs([str(file)]))) is ExitCode.USAGE
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"kdiag: {file}")
        assert len(err.splitlines()) == 1


def test_an_exchange_that_does_not_exist_is_wrong_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The message tells how many there are."""
    assert run(DecodeOptions(inputs=CaptureInputs([str(GROUP)]), show=99)) is ExitCode.USAGE
    assert (
        capsys.readouterr().err == "kdiag: there is no exchange 99: the capture has 32 exchanges\n"
    )


def test_a_capture_without_kafka_says_what_there_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty answer alone would leave people guessing."""
    capture = write_capture(tmp_path)
    assert run(DecodeOptions(inputs=CaptureInputs([capture]))) is ExitCode.DONE
    err = capsys.readouterr().err
    assert err == "kdiag: no Kafka in 3 packets, 1 connection (1 empty)\n"


@pytest.mark.thorough
def test_a_reader_that_goes_away_is_no_error() -> None:
    """As with `head`: no traceback, no message."""
    program = start("decode", str(GROUP), "-o", "jsonl", "--values")
    assert program.stdout is not None
    assert program.stderr is not None
    program.stdout.close()
    assert program.stderr.read() == b""
    assert program.wait() == 0
    for stream in (program.stdin, program.stderr):
        assert stream is not None
        stream.close()


@pytest.mark.thorough
def test_interrupting_prints_what_was_read_so_far() -> None:
    """Lines come while the input is still being made; a summary follows, the exit code is 130."""
    program = start("decode", "-")
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(GROUP.read_bytes()[:14_000])
    program.stdin.flush()
    assert b"ApiVersions v3" in program.stdout.readline()
    program.send_signal(signal.SIGINT)
    _, err = program.communicate()
    assert program.returncode == 130
    assert b"interrupted; this was read so far" in err
    assert b"order-writer" in err
    assert b"Traceback" not in err


@pytest.mark.thorough
def test_interrupting_the_search_for_one_exchange_is_an_interruption() -> None:
    """It was not found yet, which does not mean that there is none."""
    program = start("decode", "-", "--show", "99")
    assert program.stdin is not None
    program.stdin.write(GROUP.read_bytes()[:14_000])
    program.stdin.flush()
    unread = bytearray(b"\1\0\0\0")
    while any(unread):  # until the program has taken all there is
        fcntl.ioctl(program.stdin, termios.FIONREAD, unread)
    program.send_signal(signal.SIGINT)
    _, err = program.communicate()
    assert (program.returncode, err) == (130, b"")


@pytest.mark.thorough
def test_an_interrupted_document_is_still_a_document() -> None:
    """So is an interrupted summary, which goes where it was asked for."""
    program = start("decode", "-", "--summary")
    assert program.stdin is not None
    program.stdin.write(GROUP.read_bytes()[:14_000])
    program.stdin.flush()
    program.stdin.close()
    program.stdin = None
    out, err = program.communicate()
    assert (program.returncode, b"ApiVersions v3" in out) == (8, True)
    assert b"ends" in out
    assert err == b""


def test_what_tcp_did_is_told_where_it_is_asked_for() -> None:
    """As a line when a connection ends, and nowhere else."""
    plain, told = kdiag("decode", GROUP), kdiag("decode", GROUP, "--tcp")
    lines = [line for line in told.out.splitlines() if " TCP " in line]
    assert [line for line in told.out.splitlines() if line not in lines] == plain.out.splitlines()
    assert len(lines) == 5
    assert re.search(r"RTT \d+ µs, 0 retransmits, 0 zero windows, stalled 0  127", lines[0])


@pytest.mark.thorough
def test_a_summary_has_a_row_for_the_tcp_of_each_connection() -> None:
    """And a list of them for programs; without --tcp there is neither."""
    assert "RETRANSMITS" not in kdiag("decode", GROUP, "--summary").out
    assert "RETRANSMITS" in kdiag("decode", GROUP, "--summary", "--tcp").out
    done = kdiag("decode", GROUP, "--summary", "--tcp", "-o", "json")
    told = json.loads(done.out)["tcp"]
    assert [each["connection"] for each in told] == [1, 2, 3, 4, 5]
    assert told[0]["window_scaling"] == "on"


def test_an_exchange_is_shown_with_the_tcp_of_its_whole_connection() -> None:
    """Though the exchange is the first of it."""
    done = kdiag("decode", GROUP, "--show", "1", "--tcp")
    assert "tcp of connection 1" in done.out
    assert "requests: 2 segments, 0 retransmits" in done.out
    document = json.loads(kdiag("decode", GROUP, "--show", "1", "--tcp", "-o", "json").out)
    assert document["tcp"]["requests"]["segments"] == 2


def test_documents_of_connections_have_their_tcp() -> None:
    """The key is there if it was asked for."""
    for arguments, has_tcp in (([], False), (["--tcp"], True)):
        done = kdiag("decode", GROUP, "-o", "jsonl", *arguments)
        documents = [json.loads(line) for line in done.out.splitlines()]
        connections = [each for each in documents if each["kind"] == "connection"]
        assert [("tcp" in each) for each in connections] == [has_tcp] * len(connections)


def bomb(folder: Path, *values: bytes) -> str:
    """Return a capture with records that decompress to much more than they are."""
    records = make_batch(*values, compression="zstd")
    data = TopicProduceData("orders", partition_data=[PartitionProduceData(records=records)])
    frames = (
        request_bytes(ProduceRequest(acks=-1, topic_data=[data]), 7),
        response_bytes(ProduceResponse(), 7),
    )
    return write_capture(folder, (False, frames[0]), (True, frames[1]))


@pytest.mark.thorough
@pytest.mark.parametrize("options", [["-o", "jsonl"], ["-o", "json"], ["--show", "1"]])
def test_long_records_are_cut_and_the_result_is_partial(tmp_path: Path, options: list[str]) -> None:
    """Their size and hash are there; in the raw form nothing is cut."""
    file = bomb(tmp_path, bytes(2_000_000))
    done = kdiag("decode", file, "--values", *options)
    assert done.code == ExitCode.PARTIAL
    assert "1 record with fields too long to show" in done.err
    assert "2000000" in done.out
    assert len(done.out) < 20_000
    raw = kdiag("decode", file, "--values", "--raw", *options)
    assert (raw.code, raw.err) == (ExitCode.DONE, "")


@pytest.mark.thorough
def test_records_beyond_the_memory_of_a_run_are_not_shown(tmp_path: Path) -> None:
    """The document says why, and with more memory they are."""
    file = bomb(tmp_path, bytes(20_000_000))
    done = kdiag("decode", file, "--values", "-o", "jsonl", "--max-memory", "16M")
    assert done.code == ExitCode.PARTIAL
    assert "1 exchange with records that are not shown" in done.err
    assert "decompresses to more than 16777216 bytes" in done.out
    assert '"value_bytes":20000000' in kdiag("decode", file, "--values", "-o", "jsonl").out
