import pytest

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Gap, Status
from kdiag.exchange.selection import Selection
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.schema import Struct
from kdiag_cli.captures.pipeline import ExchangePipeline
from recordings.exchange_maker import START_NS, make_connection, make_exchange


class Notes:
    """A printer that keeps what it is given."""

    def __init__(self) -> None:
        self.exchanges: list[Dissection] = []
        self.others: list[str] = []

    def exchange(self, dissection: Dissection) -> None:
        """Keep an exchange."""
        self.exchanges.append(dissection)

    def gap(self, gap: Gap) -> None:
        """Note a gap."""
        self.others.append(f"gap {gap.size}")

    def connection(self, connection: Connection) -> None:
        """Note a connection."""
        self.others.append(f"connection {connection.number}")

    def finish(self) -> None:
        """Note the end."""
        self.others.append("end")


def gap() -> Gap:
    """Return a gap of nine bytes."""
    return Gap(
        connection=make_connection(),
        direction="request",
        time_ns=START_NS,
        offset=0,
        size=9,
        reason="lost",
    )


def test_everything_is_passed_on_and_exchanges_are_counted() -> None:
    """A pipeline without conditions leaves nothing out."""
    notes = Notes()
    pipeline = ExchangePipeline(TopicNames(), Selection(), notes, None)
    exchange = make_exchange(HeartbeatRequest(), HeartbeatResponse(), version=3)
    pipeline.add([exchange, gap(), make_connection()])
    pipeline.finish()
    assert [each.exchange for each in notes.exchanges] == [exchange]
    assert notes.others == ["gap 9", "connection 1", "end"]
    assert (pipeline.summary.exchanges, pipeline.is_partial) == (1, False)


def test_what_is_not_chosen_is_neither_printed_nor_counted() -> None:
    """Nor does it make the result partial."""
    notes = Notes()
    selection = Selection(groups=("other",))
    pipeline = ExchangePipeline(TopicNames(), selection, notes, None)
    broken = make_exchange(HeartbeatRequest(), b"\0\0\0\7", version=3)
    pipeline.add([broken, gap(), make_connection()])
    pipeline.finish()
    assert (notes.exchanges, notes.others) == ([], ["end"])
    assert (pipeline.summary.exchanges, pipeline.is_partial) == (0, False)


def test_fetches_know_their_session_and_wait_for_names() -> None:
    """What still waits at the end goes on without a name."""
    notes = Notes()
    pipeline = ExchangePipeline(TopicNames(), Selection(), notes, None)
    topic = FetchTopic(topic_id=bytes(15) + b"\x09", partitions=[FetchPartition(3)])
    opening = FetchRequest(session_epoch=0, topics=[topic])
    again = FetchRequest(session_id=5, session_epoch=1)
    pipeline.add(
        [
            make_exchange(opening, FetchResponse(session_id=5), version=13),
            make_exchange(again, FetchResponse(), version=13),
        ]
    )
    assert notes.exchanges == []
    pipeline.finish()
    assert notes.exchanges[1].session_topics == [("AAAAAAAAAAAAAAAAAAAACQ", 3)]


def test_counting_alone_needs_no_printer() -> None:
    """Broken exchanges make the result partial."""
    pipeline = ExchangePipeline(TopicNames(), Selection(), None, None)
    pipeline.add([make_exchange(HeartbeatRequest(), b"\0\0\0\7", version=3), gap()])
    pipeline.finish()
    assert (pipeline.summary.exchanges, pipeline.is_partial) == (1, True)


def test_counting_chosen_exchanges_reads_each() -> None:
    """One like many before may be chosen or not: here by whether it failed."""
    pipeline = ExchangePipeline(TopicNames(), Selection(errors=True), None, None)
    failed = HeartbeatResponse(error_code=27)
    for response in (HeartbeatResponse(), failed) * 30:
        pipeline.add([make_exchange(HeartbeatRequest(), response, version=3)])
    assert pipeline.summary.errors == {"REBALANCE_IN_PROGRESS": 30}
    assert pipeline.summary.exchanges == 30


@pytest.mark.parametrize(
    ("request_of", "response", "counts_rebalances", "reads_each"),
    [
        (HeartbeatRequest, HeartbeatResponse(), False, False),
        (HeartbeatRequest, HeartbeatResponse(), True, True),
        (MetadataRequest, MetadataResponse(), False, True),
    ],
)
def test_counting_alone_reads_what_tells_more_than_counts(
    request_of: type[Struct], response: Struct, *, counts_rebalances: bool, reads_each: bool
) -> None:
    """That is names, and groups where rebalances are counted; else those like many go unread."""
    pipeline = ExchangePipeline(TopicNames(), Selection(), None, None)
    if counts_rebalances:
        pipeline.groups = CaptureEvents(lambda topic_id: topic_id)
    read: list[Dissection] = []
    pipeline.summary.watch = read.append
    for _ in range(100):
        pipeline.add([make_exchange(request_of(), response, version=3)])
    assert (pipeline.summary.exchanges, len(read) == 100) == (100, reads_each)


class Faulty(Notes):
    """A printer that cannot print exchanges in order."""

    def exchange(self, dissection: Dissection) -> None:
        """Fail, unless the exchange is closed."""
        if dissection.status is Status.OK:
            raise ValueError
        super().exchange(dissection)


def test_a_fault_of_ours_costs_its_exchange_and_not_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is printed as malformed, counted once, and reported on stderr."""
    notes = Faulty()
    pipeline = ExchangePipeline(TopicNames(), Selection(), notes, None)
    exchange = make_exchange(HeartbeatRequest(), HeartbeatResponse(), version=3)
    pipeline.add([exchange, gap()])
    pipeline.finish()

    assert [each.status for each in notes.exchanges] == [Status.MALFORMED]
    assert notes.others == ["gap 9", "end"]
    assert (pipeline.summary.exchanges, pipeline.is_partial, pipeline.faults) == (1, True, 1)
    assert "exchange 1 cannot be read, please report this: ValueError" in capsys.readouterr().err
