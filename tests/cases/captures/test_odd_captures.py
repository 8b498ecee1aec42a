"""What a broker understands, kdiag reads; and nothing is missing that a packet carries."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from folders import CAPTURES, ODD_CAPTURES
from kdiag.diagnosis.recorded_faults import RecordedFaults
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Exchange, Gap, LoginPhase
from kdiag.exchange.selection import is_faulty
from kdiag.pcap.decoder import decode_capture
from kdiag.pcap.memory_budget import Limits
from tiers.cases import for_each


class Read(NamedTuple):
    """What a capture decodes to."""

    exchanges: list[Dissection]
    gaps: list[Gap]
    connections: list[Connection]

    @property
    def texts(self) -> list[str]:
        """Return each exchange as `Api vN client status`."""
        return [
            f"{each.api} v{each.exchange.version} {each.exchange.client_id} {each.status}"
            for each in self.exchanges
        ]

    @property
    def notes(self) -> list[str | None]:
        """Return the notes about requests."""
        return [None if each.request is None else each.request.note for each in self.exchanges]


def read(name: str) -> Read:
    """Return what a capture decodes to; in none of them bytes are missing."""
    items = list(decode_capture([ODD_CAPTURES / f"{name}.pcap"]))
    exchanges = [Dissection(each) for each in items if isinstance(each, Exchange)]
    found = Read(
        sorted(exchanges, key=lambda each: each.exchange.number),
        [each for each in items if isinstance(each, Gap)],
        [each for each in items if isinstance(each, Connection)],
    )
    assert not [each for each in found.gaps if each.is_missing]
    return found


def reads(*expected: str, name: str) -> None:
    """Check that a capture holds these exchanges and nothing that is not understood."""
    found = read(name)
    assert found.texts == list(expected)
    assert found.gaps == []


def reads_bytes_behind_the_last_field(name: str, **counts: int) -> None:
    """Check that they are a note, each."""
    found = read(name)
    assert {text.rpartition(" ")[2] for text in found.texts} == {"ok"}
    notes = [note and int(note.partition(" byte")[0]) for note in found.notes]
    numbered = zip(found.exchanges, notes, strict=True)
    assert {f"{each.api}_{each.exchange.number}": note for each, note in numbered if note} == counts


def reads_around_what_it_does_not_understand(name: str) -> None:
    """Check that the frame that is nothing is named with its first bytes."""
    found = read(name)
    assert found.texts == ["Heartbeat v0 worker-9 ok"] * 4
    (gap,) = found.gaps
    assert (gap.size, gap.packet, gap.starts_with[:6].hex()) == (27, 1, "000000178081")
    (connection,) = found.connections
    assert (connection.not_understood_bytes, connection.gap_bytes) == (27, 0)


def reads_a_request_that_is_too_large(name: str) -> None:
    """Check that it is read as far as it came, and that its size is what it was closed for."""
    found = read(name)
    last = found.exchanges[-1]
    assert found.texts[-1] == "Produce v9 billing partial"
    assert last.topics == {"orders"}
    request = last.request
    assert request is not None
    assert request.why is not None
    frame = request.frame
    assert (frame.size, frame.gap_bytes, frame.size - frame.unsent_bytes) == (150_000_000, 0, 38)
    assert "socket.request.max.bytes" in request.why.reason
    faults = RecordedFaults()
    faults.add_exchange(last.exchange)
    assert [each.id for each in faults.findings()] == ["KD1409"]
    assert found.gaps == []


def reads_up_to_a_corrupt_length(name: str) -> None:
    """Check that the sender is to blame, and what it sent."""
    found = read(name)
    assert [text.rpartition(" ")[2] for text in found.texts] == ["ok", "ok"]
    (gap,) = found.gaps
    assert (gap.size, gap.is_fault, gap.starts_with) == (64, True, b"\xaa" * 8)
    assert "-1431655766" in gap.reason


def reads_private_keys(name: str, *, keys: tuple[int, ...], count: int) -> None:
    """Check that requests of APIs that other brokers have are paired with their answers."""
    found = read(name)
    asked = [each.exchange.api_key for each in found.exchanges]
    assert asked == [keys[number % len(keys)] for number in range(count)]
    assert all(each.exchange.latency_ns for each in found.exchanges)
    assert found.gaps == []


def reads_a_version_that_nobody_knows(name: str) -> None:
    """Check that two ApiVersions v99 and their refusals are read."""
    found = read(name)
    assert [(each.api, each.exchange.version, each.error) for each in found.exchanges] == [
        ("ApiVersions", 99, "UNSUPPORTED_VERSION")
    ] * 2


def reads_an_unknown_error(name: str) -> None:
    """Check that an answer with an error code of another broker is an answer."""
    (exchange,) = read(name).exchanges
    assert (exchange.exchange.latency_ns, exchange.error) == (3_100_000, "UNKNOWN(-2)")


def reads_an_answer_of_another_version(name: str) -> None:
    """Check that the version is named in which a malformed answer makes sense."""
    found = read(name)
    first, second, third = found.exchanges
    assert (first.status, second.status, third.status) == ("ok", "malformed", "ok")
    assert second.response is not None
    assert second.response.why is not None
    assert second.response.why.reason.endswith("malformed as v1, reads as v0: UNKNOWN_SERVER_ERROR")


def reads_answers_out_of_order(name: str) -> None:
    """Check that the broker that gives them is accused."""
    found = read(name)
    asked = [(each.exchange.correlation_id, each.exchange.is_violation) for each in found.exchanges]
    assert asked == [(4697, False), (4698, True), (4699, True), (4702, False)]
    faults = RecordedFaults()
    for each in found.exchanges:
        faults.add_exchange(each.exchange)
    (finding,) = faults.findings()
    assert (finding.id, finding.evidence["count"]) == ("KD1404", 2)
    assert [is_faulty(each) for each in found.exchanges] == [False, True, True, False]


def blames_a_proxy_header(name: str) -> None:
    """Check that the header is the cause, and no old version."""
    found = read(name)
    (connection,) = found.connections
    assert (connection.preamble or "").startswith("PROXY v1 from ")
    faults = RecordedFaults()
    for each in found.exchanges:
        faults.add_exchange(each.exchange)
    assert [each.id for each in faults.findings()] == ["KD1410"]


def of_client(client_id: str) -> Callable[..., None]:
    """Return the check of a talk of a client whose id is odd."""
    kinds = ("ApiVersions v0", "Metadata v2", "Metadata v2")
    return partial(reads, *(f"{kind} {client_id} ok" for kind in kinds))


OLD = "ApiVersions v0 rdkafka-1"
CASES: dict[str, Callable[..., None]] = {
    "librdkafka_1_0_syn": partial(
        reads, f"{OLD} ok", "Metadata v2 rdkafka-1 ok", f"{OLD} ok", f"{OLD} ok"
    ),
    "librdkafka_1_0_nosyn": partial(
        reads_bytes_behind_the_last_field, ApiVersions_1=4, ApiVersions_3=4, ApiVersions_4=4
    ),
    "librdkafka_1_0_two_packets": partial(reads, f"{OLD} ok"),
    "librdkafka_1_0_request_only": partial(reads, f"{OLD} unanswered"),
    "trailing_bytes": partial(
        reads_bytes_behind_the_last_field,
        Metadata_2=3,
        FindCoordinator_3=8,
        ListOffsets_4=1,
        ApiVersions_5=4,
    ),
    "not_understood_nosyn": reads_around_what_it_does_not_understand,
    "b_too_large_150MB": reads_a_request_that_is_too_large,
    "b_too_large_first": reads_a_request_that_is_too_large,
    "b_corrupt_aa": reads_up_to_a_corrupt_length,
    "b_key10001_nosyn": partial(reads_private_keys, keys=(10001, 10002, 10003), count=12),
    "automq_keys_nosyn": partial(reads_private_keys, keys=(501, 502), count=6),
    "requests_by_hand": reads_a_version_that_nobody_knows,
    "answer_with_unknown_negative_code": reads_an_unknown_error,
    "client_id_tab": of_client("billing\tweb"),
    "client_id_tab_nosyn": of_client("billing\tweb"),
    "client_id_odd": of_client("billing\nweb\x01"),
    "client_id_latin1": of_client("b\ufffdro"),
    "b_kafka3427": reads_an_answer_of_another_version,
    "proxy_header_broker_closes": blames_a_proxy_header,
    "answers_out_of_order": reads_answers_out_of_order,
}


@pytest.mark.thorough
@for_each("name", sorted(CASES))
def test_a_capture_is_read_as_a_broker_reads_it(name: str) -> None:
    """Each has what its clients sent; what is odd about it is said."""
    CASES[name](name=name)


@pytest.mark.thorough
@pytest.mark.parametrize("source", sorted(CAPTURES.glob("*.pcap")), ids=lambda each: each.stem)
def test_a_low_limit_of_frames_bounds_what_is_kept_and_not_what_is_read(source: Path) -> None:
    """Of each frame there is less, but each is there, with its API, its partner and its times."""

    def facts(max_frame_bytes: int) -> list[tuple[object, ...]]:
        items = decode_capture([source], limits=Limits(max_frame_bytes=max_frame_bytes))
        return sorted(
            (
                *(each.number, each.connection.connection_id, each.pairing, each.latency_ns),
                *(frame and frame.size for frame in (each.request, each.response)),
            )
            for each in items
            if isinstance(each, Exchange) and each.login is LoginPhase.OVER
        )

    assert facts(200) == facts(100 << 20)
