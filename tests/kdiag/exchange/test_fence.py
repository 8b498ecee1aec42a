import pytest
import typer

from kdiag.errors import CaptureError, DecodeError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.documents.document import DocumentEncoder, Documents
from kdiag.exchange.fence import blame, suppress_faults
from kdiag.exchange.line.line_writer import LineWriter
from kdiag.exchange.model import Status
from kdiag.exchange.summary.counts import Summary
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from recordings.exchange_maker import make_exchange


def broken(error: Exception) -> tuple[Dissection, str]:
    """Return an exchange that an error has closed, and the line that reports it."""
    dissection = Dissection(make_exchange(HeartbeatRequest(), HeartbeatResponse(), version=3))
    assert dissection.status is Status.OK
    try:
        raise error
    except type(error) as raised:
        return dissection, blame(dissection, raised)


def test_a_fault_of_ours_makes_an_exchange_malformed_and_is_named() -> None:
    """Both sides say what happened and where, and the line for stderr does too."""
    dissection, line = broken(KeyError("leader"))

    assert dissection.status is Status.MALFORMED
    assert [side.status for side in dissection.sides] == [Status.MALFORMED, Status.MALFORMED]
    why = dissection.sides[0].why
    assert why is not None
    assert why.reason.startswith("internal error: KeyError: 'leader' (")
    assert line.startswith("exchange 1 cannot be read, please report this: KeyError: 'leader' (")


@pytest.mark.parametrize("error", [ValueError("x"), DecodeError("a", 1, "b"), RecursionError("x")])
def test_a_closed_exchange_can_be_shown_like_any_other(error: Exception) -> None:
    """As a document, as a line, counted."""
    dissection, _ = broken(error)
    names = TopicNames()
    names.learn(dissection)
    summary = Summary(names)
    summary.add(dissection)

    assert b"internal error" in DocumentEncoder().encode(
        Documents(names, BodyForm(values=True)).exchange(dissection)
    )
    assert LineWriter(names).line_of(dissection)
    assert summary.exchanges == 1


@pytest.mark.parametrize("error", [BrokenPipeError(), CaptureError("f", "why"), typer.Exit(3)])
def test_what_ends_a_run_is_not_taken_for_a_fault_of_reading(error: Exception) -> None:
    """Errors of the output and of the program go on to whoever deals with them."""
    with pytest.raises(type(error)):
        broken(error)
    with pytest.raises(type(error)), suppress_faults():
        raise error


def test_a_fault_can_be_passed_over() -> None:
    """Where another step shows the exchange, and with it the fault."""
    with suppress_faults():
        raise ValueError
