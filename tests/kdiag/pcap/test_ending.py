from collections.abc import Sequence

import pytest

from kdiag.exchange.model import Connection, Exchange, Protocol, Status, UnansweredReason
from kdiag.pcap.decoder import CaptureDecoder, Item
from recordings.segment_tape import (
    ACK,
    BROKER,
    FIN,
    RST,
    SYN,
    Numbered,
    Segment,
    Talk,
    batch_of,
    batches,
    request,
    response,
)
from tiers.cases import for_each


def decode(segments: Sequence[Segment], size: int = 1000) -> list[Item]:
    """Return what segments decode to, `size` of them in each batch."""
    decoder = CaptureDecoder(Numbered())
    items = [item for batch in batches(segments, size) for item in decoder.feed(batch)]
    return items + decoder.finish()


def connection_of(items: Sequence[Item]) -> Connection:
    """Return the only connection."""
    (connection,) = [item for item in items if isinstance(item, Connection)]
    return connection


def reason_of(segments: Sequence[Segment]) -> UnansweredReason | None:
    """Return why the only unanswered request was not answered, in blocks of any size."""
    found = set()
    for size in (1, 3, 1000):
        exchanges = [item for item in decode(segments, size) if isinstance(item, Exchange)]
        (asked,) = [each for each in exchanges if each.pairing is Status.UNANSWERED]
        found.add(asked.unanswered_reason)
    (reason,) = found
    return reason


def asked() -> Talk:
    """Return a connection with one answered request, and one that is not."""
    talk = Talk().open().ask(request(1)).tell(response(1)).ask(request(2))
    talk.send(1)
    return talk


def test_a_request_at_the_end_of_the_capture_is_in_flight() -> None:
    """That is no fault."""
    assert reason_of(asked().segments) is UnansweredReason.IN_FLIGHT


@for_each(
    ("end", "flags", "reason"),
    [
        (0, FIN | ACK, UnansweredReason.CLIENT_CLOSED),
        (0, RST | ACK, UnansweredReason.CLIENT_CLOSED),
        (1, FIN | ACK, UnansweredReason.BROKER_CLOSED),
        (1, RST | ACK, UnansweredReason.BROKER_RESET),
    ],
)
def test_who_closes_first_is_why_a_request_has_no_answer(
    end: int, flags: int, reason: UnansweredReason
) -> None:
    """What the other end does then is no reason any more."""
    talk = asked()
    talk.send(end, flags=flags)
    talk.send(1 - end, flags=RST | ACK)
    found = connection_of(decode(talk.segments))

    assert reason_of(talk.segments) is reason
    assert found.closed_by == ("client" if end == 0 else "broker")
    assert found.closed_ns is not None
    assert found.first_ns < found.closed_ns < found.last_ns


def test_an_answer_that_the_client_acknowledged_was_not_captured() -> None:
    """Whether later bytes came or not."""
    talk = asked().tell(response(2))
    talk.send(0)
    lost = [*talk.segments[:-2], talk.segments[-1]]
    assert reason_of(lost) is UnansweredReason.ANSWER_NOT_CAPTURED
    more = talk.ask(request(3)).tell(response(3)).segments
    del more[len(lost) - 1]
    assert reason_of(more) is UnansweredReason.ANSWER_NOT_CAPTURED


@pytest.mark.parametrize("first", [0, 3])
def test_responses_that_nobody_captured_are_told_as_such(first: int) -> None:
    """What the client acknowledges shows that there were some."""
    talk = Talk().open().ask(request(1)).tell(response(1)).ask(request(2)).tell(response(2))
    talk.send(0)
    told = [each for each in talk.segments[first:] if each.source != BROKER]
    exchanges = [item for item in decode(told) if isinstance(item, Exchange)]

    reasons = {each.unanswered_reason for each in exchanges}
    assert reasons == {UnansweredReason.RESPONSES_NOT_CAPTURED}


def test_a_broker_that_nobody_hears_is_not_a_capture_of_one_side() -> None:
    """A client that sends again and again acknowledges nothing new."""
    talk = Talk().ask(request(1))
    again = [talk.segments[0]] * 3
    assert reason_of(again) is UnansweredReason.IN_FLIGHT


def test_a_request_that_the_broker_passes_over_is_told() -> None:
    """It answers in order, so the answer will not come."""
    talk = asked().ask(request(3)).tell(response(3))
    assert reason_of(talk.segments) is UnansweredReason.SKIPPED


def test_a_port_used_again_hides_how_the_connection_ended() -> None:
    """Nobody knows whether the answer came."""
    again = Talk(starts=(70_000, 90_000)).open()
    assert reason_of([*asked().segments, *again.segments]) is UnansweredReason.END_NOT_CAPTURED


def test_a_forged_reset_is_no_reason() -> None:
    """The broker sends on behind it."""
    talk = asked()
    talk.segments.append(talk.segments[-1]._replace(flags=RST | ACK))
    talk.tell(response(7))

    assert reason_of(talk.segments) is UnansweredReason.IN_FLIGHT


def test_a_syn_that_is_answered_by_a_reset_is_refused() -> None:
    """Nothing listens there."""
    talk = Talk()
    talk.send(0, flags=SYN)
    talk.send(1, flags=RST | ACK)
    found = connection_of(decode(talk.segments))

    assert (found.protocol, found.close_reason) == (Protocol.EMPTY, "refused")
    assert (found.closed_by, found.syns) == ("broker", 1)


@pytest.mark.parametrize(("later_ms", "reason"), [(900, "end of capture"), (1000, "no answer")])
def test_a_syn_without_an_answer_is_told_after_a_second(later_ms: int, reason: str) -> None:
    """The answer may still be on its way when the capture ends."""
    talk, other = Talk(), Talk(client=BROKER + 1, broker=BROKER + 2)
    talk.send(0, flags=SYN)
    other.send(0)
    late = batch_of(other.segments, 2)
    decoder = CaptureDecoder(Numbered())
    items = decoder.feed(batch_of(talk.segments, 1))
    first_ns = late.time_ns - 1_000_000
    items += decoder.feed(late._replace(time_ns=first_ns + later_ms * 1_000_000))
    items += decoder.finish()

    found = [item for item in items if isinstance(item, Connection) and item.syns]
    assert [each.close_reason for each in found] == [reason]


def test_a_syn_that_is_sent_again_had_no_answer() -> None:
    """The client waits for it no more than a second."""
    talk = Talk()
    talk.send(0, flags=SYN)
    found = connection_of(decode(talk.segments * 3))

    assert (found.close_reason, found.syns) == ("no answer", 3)


def test_a_connection_without_bytes_was_made_nevertheless() -> None:
    """A health check connects and closes; a capture of one side has its acknowledgments."""
    talk = Talk().open().close()
    assert connection_of(decode(talk.segments)).close_reason == "fin"
    one_sided = [each for each in talk.segments if each.source != BROKER]
    assert connection_of(decode(one_sided)).close_reason == "end of capture"
