"""`--trace`: each exchange as a line of `kdiag decode`."""

from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag_cli.live.trace import Trace
from programs.kdiag_program import Printed
from recordings.exchange_maker import make_exchange


def test_an_exchange_is_a_line_as_soon_as_it_has_ended() -> None:
    """Nothing waits for later ones."""
    output = Printed()
    exchange = make_exchange(HeartbeatRequest(group_id="g"), HeartbeatResponse(), version=3)
    with Trace(output) as trace:
        trace.exchange(exchange)
        (line,) = output.lines
        trace.exchange(exchange)
    assert "Heartbeat v3" in line
    assert len(output.lines) == 2
