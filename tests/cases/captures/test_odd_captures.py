"""What a broker understands, kdiag reads; and nothing is missing that a packet carries."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from folders import ODD_CAPTURES
from kdiag.diagnosis.recorded_faults import RecordedFaults
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Exchange, Gap
from kdiag.pcap.decoder import decode_capture
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
}


@for_each("name", sorted(CASES))
def test_a_capture_is_read_as_a_broker_reads_it(name: str) -> None:
    """Each has what its clients sent; what is odd about it is said."""
    CASES[name](name=name)
