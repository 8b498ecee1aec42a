"""`kdiag rebalance watch --live`; `test_live_decode` reads real interfaces."""

import json

import pytest

from folders import CAPTURES
from kdiag.clock import NS_PER_S, ManualClock
from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.rebalance.events import Event
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import decode_capture
from kdiag.wire import api_keys
from kdiag_cli.commands.rebalance import packets
from kdiag_cli.commands.rebalance.fresh import RebalancePrinter
from kdiag_cli.commands.rebalance.packets import PacketWatch
from kdiag_cli.options.captures import CaptureInputs
from kdiag_cli.output.result import ResultFormat
from programs.kdiag_program import kdiag

CAPTURE = CAPTURES / "rebalance.pcap"
EXCHANGES = [Dissection(each) for each in decode_capture([CAPTURE]) if isinstance(each, Exchange)]


def generations(out: str) -> list[int]:
    """Return the generations of what was printed, as lines of JSON."""
    return [json.loads(line)["generation"] for line in out.splitlines()]


def expected() -> list[int]:
    """Return the generations that the whole capture shows."""
    events = CaptureEvents(TopicNames().name)
    for each in EXCHANGES:
        events.add(each)
    (history,) = histories_of(events.in_order(), "capture")
    return [each.generation for each in history.rebalances]


def test_each_rebalance_is_printed_once_while_packets_come(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whenever it is looked, however often."""
    clock = ManualClock()
    events = CaptureEvents(TopicNames().name)
    watched = PacketWatch(events, (), RebalancePrinter(ResultFormat.JSON), clock, None)
    counts = set()
    for each in EXCHANGES:
        events.add(each)
        clock.advance(NS_PER_S)
        assert watched.look()
        counts.add(watched.printer.count)
    watched.end()

    assert generations(capsys.readouterr().out) == expected()
    assert len(counts) > 2, "all came at once"


def test_it_is_not_looked_all_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Within half a second nothing is made anew; the end prints what is left."""
    clock = ManualClock()
    events = CaptureEvents(TopicNames().name)
    watched = PacketWatch(events, (), RebalancePrinter(ResultFormat.JSON), clock, None)
    assert watched.look()
    for each in EXCHANGES:
        events.add(each)
        assert watched.look()
    assert watched.printer.count == 0
    watched.end()

    assert generations(capsys.readouterr().out) == expected()


class SlowEvents(CaptureEvents):
    """Events of which each look takes ten seconds."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(TopicNames().name)
        self.looks = 0
        self._clock = clock

    def in_order(self) -> list[Event]:
        """Return the events, ten seconds later."""
        self.looks += 1
        self._clock.advance(10 * NS_PER_S)
        return super().in_order()


def test_looks_take_a_twentieth_of_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    """However long one takes; where nothing new was said of a group, there is none."""
    clock = ManualClock()
    events = SlowEvents(clock)
    watched = PacketWatch(events, (), RebalancePrinter(ResultFormat.JSON), clock, None)
    joins = [each for each in EXCHANGES if each.exchange.api_key == api_keys.JOIN_GROUP]
    others = [each for each in EXCHANGES if each.exchange.api_key == api_keys.FETCH]
    events.add(joins[0])
    watched.look()
    assert events.looks == 1
    events.add(joins[1])
    for _ in range(189):
        clock.advance(NS_PER_S)
        watched.look()
    assert events.looks == 1
    clock.advance(NS_PER_S)
    watched.look()
    assert events.looks == 2
    events.add(others[0])
    clock.advance(200 * NS_PER_S)
    watched.look()
    assert events.looks == 2
    assert capsys.readouterr().err == ""


def test_it_ends_after_as_many_as_are_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the groups that are wanted; a capture is read as an interface is."""
    inputs = CaptureInputs(files=[str(CAPTURE)])
    assert packets.run(inputs, (), 1, ResultFormat.JSON) == 0
    assert generations(capsys.readouterr().out) == expected()[:1]
    assert packets.run(inputs, ["nobody"], None, ResultFormat.JSON) == 0
    assert capsys.readouterr().out == ""


def test_options_that_do_not_belong_together_are_refused() -> None:
    """Each way to see rebalances has its own."""
    for arguments in (("--filter", "tcp"), ("--port", "9092"), ("--live", "lo", "--describe")):
        done = kdiag("rebalance", "watch", *arguments)
        assert done.code == 2
        assert arguments[0] in done.err or "--describe" in done.err
