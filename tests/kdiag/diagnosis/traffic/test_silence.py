"""A broker that answers no client is found; one that answers somebody, or is gone, is not."""

from collections.abc import Sequence

import pytest

from kdiag.diagnosis.traffic.silence import Silence
from kdiag.exchange.model import Exchange, Status, UnansweredReason
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from recordings.exchange_maker import START_NS, make_connection, make_exchange

MS = 1_000_000
FROZEN, OTHER = "10.0.0.2:9092", "10.0.0.3:9092"


def asked(at_ms: int, after_ms: int | None, client: str = "a", broker: str = FROZEN) -> Exchange:
    """Return a heartbeat that was answered so much later; None for one without an answer."""
    response = None if after_ms is None else HeartbeatResponse()
    connection = make_connection(broker=broker, last_ns=START_NS + 20_000 * MS)
    made = make_exchange(
        HeartbeatRequest(), response, version=4, client_id=client, connection=connection
    )
    for frame, late_ms in ((made.request, 0), (made.response, after_ms or 0)):
        if frame is not None:
            frame.first_byte_ns = frame.last_byte_ns = START_NS + (at_ms + late_ms) * MS
    if response is None:
        made.pairing = Status.UNANSWERED
        made.unanswered_reason = UnansweredReason.CLIENT_CLOSED
    return made


def found(exchanges: Sequence[Exchange]) -> list[tuple[str, str, str, str]]:
    """Return the brokers that were silent: from when, to when, and who asked."""
    silence = Silence()
    for each in exchanges:
        silence.add(each)
    findings = list(silence.findings())
    assert {each.id for each in findings} <= {"KD4402"}
    return [
        tuple(each.evidence[name] for name in ("broker", "first", "last", "clients"))
        for each in findings
    ]


BEFORE = [asked(0, 1), asked(500, 1)]
AFTER = asked(14_000, 1)
UNHEARD = [asked(1_000, None), asked(2_000, 12_000, "b")]


def test_a_broker_that_answers_nobody_for_a_while_is_found() -> None:
    """From its last answer to its next, with who asked meanwhile."""
    assert found([*BEFORE, *UNHEARD, AFTER]) == [(FROZEN, "03:04:05.501", "03:04:19.000", "a, b")]
    others = [asked(each * 1_000, 1, broker=OTHER) for each in range(15)]
    assert [each[0] for each in found([*BEFORE, *others, *UNHEARD, AFTER])] == [FROZEN]


def test_a_silence_may_last_to_the_end_of_the_capture() -> None:
    """It is not over then."""
    ends = [asked(1_000, None), asked(2_000, None, "b")]
    ((_, first, last, _),) = found([*BEFORE, *ends])
    assert (first, last) == ("03:04:05.501", "03:04:25.000")


def test_what_else_could_be_is_no_silence() -> None:
    """One client, a short pause, answers to others, nobody who asks, a broker that is gone."""
    alone = [asked(1_000, None), asked(2_000, 12_000)]
    assert found([*BEFORE, *alone, AFTER]) == []
    short = [asked(1_000, 1_400), asked(1_100, 1_300, "b")]
    assert found([*BEFORE, *short, asked(2_500, 1)]) == []
    answered = [asked(each * 1_000, 1, "c") for each in range(1, 14)]
    assert found([*BEFORE, *UNHEARD, *answered, AFTER]) == []
    assert found([*BEFORE, AFTER]) == []
    gone = [asked(1_000, None), asked(2_000, None, "b")]
    for each in gone:
        each.unanswered_reason = UnansweredReason.BROKER_RESET
    assert found([*BEFORE, *gone, AFTER]) == []


def test_answers_that_the_capture_lacks_prove_nothing() -> None:
    """They may have come."""
    lost = [asked(1_000, None), asked(2_000, None, "b")]
    for each in lost:
        each.unanswered_reason = UnansweredReason.ANSWER_NOT_CAPTURED
    assert found([*BEFORE, *lost, AFTER]) == []


@pytest.mark.thorough
def test_a_silence_of_long_ago_is_kept_and_answers_are_not() -> None:
    """Of an hour of answers only pauses are left; an answer that comes late cuts one."""
    hour = [asked(15_000 + each * 1_000, 1) for each in range(3_600)]
    for each in (*hour, *UNHEARD):
        each.connection.last_ns = START_NS + 3_700_000 * MS
    ends = [asked(3_616_000 + each * 250, 1) for each in range(400)]
    assert found([*BEFORE, *UNHEARD, AFTER, *hour, *ends])[0][1:3] == (
        "03:04:05.501",
        "03:04:19.000",
    )
    late = [asked(each, 1) for each in (3_000, 5_500, 8_000, 10_500, 13_000)]
    assert found([*BEFORE, *UNHEARD, AFTER, *hour, *late, *ends]) == []
