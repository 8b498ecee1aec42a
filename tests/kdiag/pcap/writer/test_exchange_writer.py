import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folders import CAPTURES
from kdiag.errors import CaptureError
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.writer import exchange_writer
from kdiag.pcap.writer.exchange_writer import HOLD_NS, ExchangeWriter
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.frame import Frame
from recordings.exchange_maker import (
    BROKER,
    CLIENT,
    START_NS,
    cut_frame,
    make_connection,
    make_exchange,
    whole_frame,
)
from recordings.expected_exchanges import decode_lines

NAMES = sorted(path.stem for path in CAPTURES.glob("*.pcap"))
ENDS = [(CLIENT, BROKER), ("10.0.0.1:40001", BROKER), ("[fe80::1]:40000", "[fe80::2]:9092")]


def decoded(path: Path) -> Iterator[Any]:
    """Yield what a capture holds."""
    reader = CaptureReader([path])
    decoder = CaptureDecoder(reader.addresses)
    for batch in reader.read_segments():
        yield from decoder.feed(batch)
    yield from decoder.finish()


def exchanges(path: Path) -> list[Exchange]:
    """Return the exchanges of a capture in the order of their numbers."""
    found = [each for each in decoded(path) if isinstance(each, Exchange)]
    return sorted(found, key=lambda each: each.number)


def told(exchange: Exchange) -> tuple[object, ...]:
    """Return what an exchange says but for how it was numbered and cut into packets."""
    frames = [
        frame and (frame.data, frame.size, frame.first_byte_ns, frame.last_byte_ns)
        for frame in (exchange.request, exchange.response)
    ]
    ends = exchange.connection.client, exchange.connection.broker
    return (*ends, exchange.api_key, exchange.correlation_id, exchange.pairing, *frames)


def lines_without_packets(lines: bytes) -> list[dict[str, Any]]:
    """Return the documents of a capture's exchanges but for the facts of packets."""
    documents = [json.loads(line) for line in lines.splitlines()]
    found = [each for each in documents if each["kind"] == "exchange"]
    for document in found:
        del document["connection"]  # one that carried no exchange has a number as well
        for side in ("request", "response"):
            if document[side] is not None:
                del document[side]["frame"]
    return sorted(found, key=lambda each: int(each["number"]))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_what_a_capture_decodes_to_is_written_as_a_capture_that_decodes_to_the_same(
    name: str, tmp_path: Path
) -> None:
    """Times, identities and bodies are equal; only packets are others."""
    original, written = CAPTURES / f"{name}.pcap", tmp_path / "written.pcap"
    with ExchangeWriter(written) as writer:
        for each in decoded(original):
            if isinstance(each, Exchange):
                writer.write(each)

    # What the original decodes to stands beside it, as test_shipped_captures.py holds.
    expected = original.with_suffix(".jsonl").read_bytes()
    assert lines_without_packets(decode_lines(written)) == lines_without_packets(expected)


def test_no_password_is_in_what_is_written_unless_it_is_asked_for(tmp_path: Path) -> None:
    """The bytes of the file are searched, not what is printed of them."""
    request = SaslAuthenticateRequest(auth_bytes=b"\0alice\0s3cr3t")
    exchange = make_exchange(request, SaslAuthenticateResponse(), version=2)

    for keep_secrets in (False, True):
        path = tmp_path / f"{keep_secrets}.pcap"
        with ExchangeWriter(path, keep_secrets=keep_secrets) as writer:
            writer.write(exchange)
        assert (b"s3cr3t" in path.read_bytes()) is keep_secrets
        assert len(exchanges(path)) == 1


def asked(
    number: int, connection: Connection, request_ns: tuple[int, int], response_ns: tuple[int, int]
) -> Exchange:
    """Return an exchange whose frames have first and last byte at these times."""
    exchange = make_exchange(
        FindCoordinatorRequest(coordinator_keys=["k" * (number % 7 * 20)]),
        FindCoordinatorResponse(),
        version=4,
        number=number,
        connection=connection,
    )
    for frame, (first_ns, last_ns) in (
        (exchange.request, request_ns),
        (exchange.response, response_ns),
    ):
        assert frame is not None
        frame.first_byte_ns, frame.last_byte_ns = first_ns, last_ns
    return exchange


@st.composite
def conversations(draw: st.DrawFn) -> list[Exchange]:
    """Draw exchanges on three connections, pipelined, in the order of their requests."""
    made: list[Exchange] = []
    for number, (client, broker) in enumerate(ENDS, 1):
        connection = make_connection(
            number, client=client, broker=broker, connection_id=client, first_ns=START_NS
        )
        asked_ns = answered_ns = START_NS + number
        gaps = st.lists(st.tuples(*[st.integers(1, 30)] * 4), max_size=8)
        for wait, sending, thinking, answering in draw(gaps):
            first_ns, asked_ns = asked_ns + wait, asked_ns + wait + sending
            begun_ns = max(asked_ns + thinking, answered_ns + 1)
            answered_ns = begun_ns + answering
            times = (first_ns, asked_ns), (begun_ns, answered_ns)
            made.append(asked(len(made) + 1, connection, *times))
    return made


@pytest.mark.thorough
@given(made=conversations())
def test_pipelined_exchanges_of_many_connections_come_back(
    made: list[Exchange], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """They are given as they complete, and are found in the order of their requests."""
    path = tmp_path_factory.mktemp("written") / "kept.pcap"
    with ExchangeWriter(path) as writer:
        for each in sorted(made, key=_completed_ns):
            writer.write(each)

    found = exchanges(path)

    assert [each.time_ns for each in found] == sorted(each.time_ns for each in made)
    assert sorted(map(told, found), key=str) == sorted(map(told, made), key=str)


def _completed_ns(exchange: Exchange) -> int:
    assert exchange.response is not None
    return exchange.response.last_byte_ns


def test_a_frame_of_many_segments_comes_back(tmp_path: Path) -> None:
    """A megabyte takes some."""
    request = FindCoordinatorRequest(coordinator_keys=["k" * 30_000] * 40)
    exchange = make_exchange(request, FindCoordinatorResponse(), version=4)
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        writer.write(exchange)

    [found] = exchanges(path)

    assert told(found) == told(exchange)
    assert found.request is not None
    assert found.request.segments == 19


def test_a_request_without_an_answer_comes_back(tmp_path: Path) -> None:
    """Whether it wants none or the connection broke, its bytes are there."""
    exchange = make_exchange(
        FindCoordinatorRequest(key="g"), None, version=0, pairing=Status.UNANSWERED
    )
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        writer.write(exchange)

    assert [told(each) for each in exchanges(path)] == [told(exchange)]


def test_a_response_that_stopped_within_comes_back_cut(tmp_path: Path) -> None:
    """A length that nothing follows up is written as it was said."""
    exchange = make_exchange(FindCoordinatorRequest(), FindCoordinatorResponse(), version=4)
    assert exchange.response is not None
    lying = Frame(exchange.response.data, 1 << 20, START_NS + 9, START_NS + 9)
    exchange.response = lying
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        writer.write(exchange)

    [found] = exchanges(path)

    assert found.response is not None
    assert found.response.size == 1 << 20
    assert found.response.data == lying.data


def test_what_a_capture_lost_is_lost_in_what_is_written(tmp_path: Path) -> None:
    """The frame behind the hole is found again."""
    connection = make_connection()
    made = [
        asked(each, connection, (START_NS + each, START_NS + each), (START_NS + 9, START_NS + 9))
        for each in (1, 2, 3)
    ]
    assert made[1].request is not None
    made[1].request = cut_frame(made[1].request.data, 20, START_NS + 2)
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        for each in made:
            writer.write(each)

    frames = [each.request for each in exchanges(path)]

    assert [frame and (len(frame.data), frame.is_whole) for frame in frames] == [
        (len(each.request.data), each.request.is_whole) for each in made if each.request
    ]


def test_a_client_port_that_is_used_again_is_another_connection(tmp_path: Path) -> None:
    """The first one ends where the second begins, as far as one can know."""
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        for number in (1, 2):
            start_ns = START_NS + number * 1_000
            connection = make_connection(number, connection_id=str(number), first_ns=start_ns)
            times = (start_ns, start_ns + 1), (start_ns + 2, start_ns + 3)
            writer.write(asked(number, connection, *times))

    ended = [each for each in decoded(path) if isinstance(each, Connection)]

    assert [(each.requests, each.close_reason) for each in ended] == [(1, "fin"), (1, "fin")]


def test_a_file_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    """What is old enough that nothing comes before it is there."""
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        for number in (1, 2):
            at_ns = START_NS + number * 2 * HOLD_NS
            writer.write(asked(number, make_connection(), (at_ns, at_ns), (at_ns + 1, at_ns + 1)))
        assert len(exchanges(path)) == 1

    assert len(exchanges(path)) == 2


def test_an_answer_that_took_long_keeps_its_time_if_its_connection_was_idle(
    tmp_path: Path,
) -> None:
    """The file is then not in order, each connection is."""
    slow = make_connection(1, connection_id="slow")
    busy = make_connection(2, connection_id="busy", client="10.0.0.1:40001")
    end_ns = START_NS + 10 * HOLD_NS
    joined = asked(1, slow, (START_NS, START_NS), (end_ns, end_ns))
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        for number in range(2, 12):
            at_ns = START_NS + (number - 1) * HOLD_NS
            writer.write(asked(number, busy, (at_ns, at_ns), (at_ns, at_ns)))
        writer.write(joined)

    assert told(joined) in [told(each) for each in exchanges(path)]


def test_what_waits_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large frames do not wait for what may have been before them."""
    monkeypatch.setattr(exchange_writer, "MAX_HELD_BYTES", 1_000)
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        for number in range(100):
            at_ns = START_NS + number
            writer.write(asked(number + 1, make_connection(), (at_ns, at_ns), (at_ns, at_ns)))
            assert writer._held_bytes <= 1_000
        assert len(exchanges(path)) > 80

    assert writer._held_bytes == 0


def test_a_disk_that_becomes_full_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaving the block afterwards does not hide it behind another error."""
    monkeypatch.setattr(exchange_writer, "MAX_HELD_BYTES", 0)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30, limit[1]))
    try:
        with pytest.raises(CaptureError, match=r"kept.pcap: cannot be written: File too large"):
            _keep(tmp_path / "kept.pcap")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)


def _keep(path: Path) -> None:
    with ExchangeWriter(path) as writer:
        writer.write(asked(1, make_connection(), (START_NS,) * 2, (START_NS,) * 2))


def test_an_exchange_between_ends_that_nobody_could_name_is_written(tmp_path: Path) -> None:
    """What was said before the connection broke is worth more than who said it."""
    connection = make_connection(client="?", broker="?")
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        writer.write(asked(1, connection, (START_NS, START_NS), (START_NS + 1, START_NS + 1)))

    [found] = exchanges(path)

    assert found.connection.broker == "0.0.0.0:9092"


def test_a_clock_that_goes_back_breaks_no_frame(tmp_path: Path) -> None:
    """Bytes stay in order; only times are as odd as they were."""
    made = [
        asked(number, make_connection(), (START_NS + 9, START_NS), (START_NS + 5, START_NS + 2))
        for number in (1, 2)
    ]
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        for each in made:
            writer.write(each)

    requests = [found.request and found.request.data for found in exchanges(path)]

    assert requests == [each.request and each.request.data for each in made]


@pytest.mark.soak
def test_tshark_finds_nothing_wrong_with_packets(
    require_programs: Callable[..., None], tmp_path: Path
) -> None:
    """Checksums are right and no byte is lost, repeated or outside of a window."""
    require_programs("tshark")
    path = tmp_path / "kept.pcap"
    with ExchangeWriter(path) as writer:
        for number, (client, broker) in enumerate(ENDS, 1):
            connection = make_connection(number, client=client, broker=broker, connection_id=client)
            exchange = asked(number, connection, (START_NS, START_NS + 1), (START_NS + 2,) * 2)
            exchange.request = whole_frame(bytes(4) + b"\0" * 300_000, START_NS)
            writer.write(exchange)
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    wrong = "tcp.analysis.flags || tcp.checksum.status != 1 || (ip && ip.checksum.status != 1)"

    def count(only: str) -> int:
        command = ["tshark", "-r", str(path), *checks, "-d", "tcp.port==9092,data", "-Y", only]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return len(done.stdout.splitlines())

    assert count("tcp") == 3 * (3 + 5 + 1 + 3)
    assert count(wrong) == 0


@pytest.mark.thorough
def test_it_starts_without_numpy() -> None:
    """A live command that keeps what it said must start as fast as one that does not."""
    code = "import sys, kdiag.pcap.writer.exchange_writer; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
