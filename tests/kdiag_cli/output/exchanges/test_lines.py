import io
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from kdiag.exchange.context.broker_ids import BrokerIds
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.shown_time import times_shown_in
from kdiag.exchange.model import (
    Connection,
    Exchange,
    Gap,
    Protocol,
    Sighting,
    Status,
    UnansweredReason,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag_cli.output.exchanges.lines import ExchangeLines
from kdiag_cli.output.exchanges.times import LineTimes
from kdiag_cli.output.terminal import Output, TimeStyle, columns_of
from recordings.exchange_maker import START_NS, make_batch, make_connection, make_exchange
from tiers.cases import for_each

SUMMER_ENDS_NS: Final = 1_792_890_000 * 10**9
"""2026-10-25T01:00:00Z."""


class Stream(io.TextIOWrapper):
    """A stream in memory that may be a terminal."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        """Return whether it pretends to be one."""
        return self._is_terminal


def lines_of(
    *items: Exchange | Gap | Connection, width: int | None = None, **options: Any
) -> list[str]:
    """Return what is printed, on a terminal if it has a width."""
    stream = Stream(is_terminal=width is not None)
    output = Output(stream)
    output.width = width
    output.has_colour = False
    output.is_prompt = options.pop("is_prompt", False)
    style, first_ns = options.pop("style", TimeStyle.OF_DAY), options.pop("first_ns", None)
    times = LineTimes(output, style, first_ns)
    brokers = options.pop("brokers", BrokerIds())
    lines = ExchangeLines(output, TopicNames(), brokers, times=times, **options)
    for item in items:
        if isinstance(item, Exchange):
            lines.exchange(Dissection(item))
        elif isinstance(item, Gap):
            lines.gap(item)
        else:
            lines.connection(item)
    lines.finish()
    output.flush()
    text: bytes = stream.buffer.getvalue()  # type: ignore[attr-defined]  # it is a BytesIO
    return text.decode().splitlines()


def heartbeat(number: int = 1, group: str = "billing", **changes: Any) -> Exchange:
    """Return a heartbeat that is told to rebalance."""
    asked = HeartbeatRequest(group_id=group, generation_id=4, member_id="m")
    return make_exchange(
        asked, HeartbeatResponse(error_code=27), version=3, number=number, **changes
    )


def started(number: int, seconds: float) -> Exchange:
    """Return a heartbeat that begins so long after the others."""
    exchange = heartbeat(number)
    for frame in (exchange.request, exchange.response):
        assert frame is not None
        frame.first_byte_ns += int(seconds * 10**9)
        frame.last_byte_ns = frame.first_byte_ns
    return exchange


def test_a_line_in_a_pipe_is_whole_and_carries_the_date() -> None:
    """There is no header, so that every line is an exchange; who took part comes last."""
    (line,) = lines_of(heartbeat())
    assert line == (
        "  1 2026-01-02 03:04:05.000000Z 2.50 ms Heartbeat v3 REBALANCE_IN_PROGRESS group billing"
        " gen 4, member m  app  10.0.0.1:40000 → 10.0.0.2:9092"
    )


def test_a_wide_terminal_gets_a_header_and_who_took_part_at_the_right() -> None:
    """The date is in the header; what is too long goes on below, and is cut there."""
    batch = make_batch(b"value")
    topic = TopicProduceData("orders", partition_data=[PartitionProduceData(3, batch)])
    asked = ProduceRequest(acks=0, topic_data=[topic], transactional_id="a" * 900)
    silent = make_exchange(asked, version=3, number=12, pairing=Status.NO_RESPONSE, client_id=None)
    header, first, second, third, _, last = lines_of(heartbeat(), silent, width=150)
    assert header.split() == [
        *("#", "2026-01-02", "UTC", "LATENCY", "API", "ABOUT", "CLIENT-ID", "CLIENT→BROKER")
    ]
    assert first.startswith(
        "  1 03:04:05.000000 2.50 ms Heartbeat v3 REBALANCE_IN_PROGRESS group billing gen 4, member"
    )
    assert first.endswith("app       10.0.0.1:40000→10.0.0.2:9092")
    assert first.index("app") == header.index("CLIENT-ID")
    assert second.startswith(
        " 12 03:04:05.000000       - Produce v3   orders[3] 1 record 73 B, acks 0, no"
    )
    assert second.endswith(" -         10.0.0.1:40000→10.0.0.2:9092")
    assert third.startswith(" " * header.index("ABOUT") + "aaaaaa")
    assert third.endswith("aaaaaa")
    assert last.endswith("…")


def test_a_narrow_terminal_has_who_took_part_below_what_happened() -> None:
    """What happened is a column of two lines beside both."""
    same_host = make_connection(client="10.0.0.2:40000")
    exchange = heartbeat(connection=same_host)
    header, titles, first, second = lines_of(exchange, width=80)
    assert header == "  # 2026-01-02 UTC LATENCY API          ABOUT"
    assert titles == "    CLIENT-ID CLIENT→BROKER"
    assert (
        first == "  1 03:04:05.000   2.50 ms Heartbeat v3 REBALANCE_IN_PROGRESS group billing gen"
    )
    assert second == "    app       10.0.0.2:40000→:9092      4, member m"


def test_what_an_exchange_came_to_is_not_cut_off() -> None:
    """It stands last, after a list that breaks behind a comma."""
    topics = ",".join(f"topic-{number}" for number in range(11))
    (*_, second, third) = lines_of(heartbeat(client_id=None, group=f"{topics} last"), width=100)
    assert second.endswith(" topic-0,topic-1,topic-2,topic-3,topic-4,topic-5,topic-6,")
    assert third.strip() == "topic-7,topic-8,topic-9,topic-10 last gen 4, member m"


def test_a_rare_transfer_takes_no_column_of_all_lines() -> None:
    """It is told before what the row is about."""
    slow = heartbeat()
    assert slow.response is not None
    slow.response.last_byte_ns += 4_070_000_000
    header, _, first, *_ = lines_of(slow, *(heartbeat(number) for number in range(2, 9)), width=100)
    assert header.startswith("  # 2026-01-02 UTC LATENCY API")
    assert " 2.50 ms Heartbeat v3    +4.07 s transfer; REBALANCE_IN" in first


@for_each("width", [70, 80, 100, 120])
def test_neither_broker_nor_latency_are_ever_cut(width: int) -> None:
    """Client id and client give way."""
    far = make_connection(client="192.168.100.101:45678", broker="192.168.100.222:19092")
    slow = heartbeat(connection=far, client_id="a-client-with-a-long-name")
    assert slow.response is not None
    slow.response.last_byte_ns += 4_070_000_000
    text = "\n".join(lines_of(slow, heartbeat(number=2), width=width))

    assert "2.50 ms +4.07 s " in text
    assert "→192.168.100.222:19092" in text
    assert "→10.0.0.2:9092" in text
    assert "a-client" in text


@pytest.mark.parametrize(
    ("width", "ends"),
    [(None, "10.0.0.1:40000 → 10.0.0.2:9092 (id 7)"), (150, "10.0.0.1:40000→10.0.0.2:9092 (id 7)")],
)
def test_the_broker_s_node_id_stands_beside_its_address(width: int | None, ends: str) -> None:
    """Once Metadata told it; lines that wait have it too."""
    told = MetadataResponseBroker(node_id=7, host="10.0.0.2", port=9092)
    answer = MetadataResponse(brokers=[told])
    brokers = BrokerIds()
    assert ends not in lines_of(heartbeat(), width=width, brokers=brokers)[-1]
    brokers.learn(Dissection(make_exchange(MetadataRequest(), version=9, response=answer)))
    assert lines_of(heartbeat(), width=width, brokers=brokers)[-1].endswith(ends)


def test_the_node_id_goes_first_where_there_is_no_room() -> None:
    """Addresses are worth more."""
    told = MetadataResponseBroker(node_id=7, host="10.0.0.2", port=9092)
    brokers = BrokerIds()
    exchange = make_exchange(
        MetadataRequest(), version=9, response=MetadataResponse(brokers=[told])
    )
    brokers.learn(Dissection(exchange))
    *_, below = lines_of(heartbeat(), width=80, brokers=brokers)
    assert "→10.0.0.2:9092 " in below
    assert "(id 7)" not in below


@for_each("width", [1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 79, 80, 100, 130])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Whatever is in it, wide characters count as two columns and accents as none."""
    wide = make_connection(client="[2001:db8:85a3::8a2e:370:7334]:40000")
    exchanges = [
        heartbeat(connection=wide, client_id="注文サービス-42"),
        heartbeat(number=123_456_789, client_id="e\u0301" * 30),
        make_exchange(HeartbeatRequest(group_id="支払い" * 40), version=3, number=3),
    ]
    gap = Gap(
        connection=wide, direction="request", time_ns=START_NS, offset=0, size=9, reason="lost"
    )

    for line in lines_of(*exchanges, gap, width=width):
        assert columns_of(line) <= width


def test_a_terminal_of_60_columns_shows_each_group_of_cells_on_a_line_of_its_own() -> None:
    """Then nothing has to be cut."""
    *_, first, second, third = lines_of(heartbeat(), width=60)

    assert first == "  1 03:04:05.000   2.50 ms Heartbeat v3"
    assert second == "REBALANCE_IN_PROGRESS group billing gen 4, member m"
    assert third.startswith("app ")
    assert third.endswith("10.0.0.1:40000→10.0.0.2:9092")


def test_wide_client_ids_keep_the_columns_in_line() -> None:
    """The cell is filled up by columns, not by characters."""
    lines = lines_of(heartbeat(client_id="注文"), heartbeat(number=2, client_id="plain"), width=150)
    places = [columns_of(line[: line.index("10.0.0.1")]) for line in lines[1:]]

    assert places[0] == places[1]


def test_client_ids_from_the_wire_are_made_harmless() -> None:
    """So are topics, groups and whatever else is in a line."""
    exchange = heartbeat(client_id="\x1b]0;owned\x07")
    asked = HeartbeatRequest(group_id="\x1b[2J")
    other = make_exchange(asked, version=3, number=2)
    for line in lines_of(exchange, other):
        assert "\x1b" not in line
        assert "\x07" not in line
    assert r"\x1b]0;owned\x07" in lines_of(exchange)[0]
    assert r"\x1b[2J" in lines_of(other)[0]


def test_names_that_are_too_long_are_cut_but_never_the_version() -> None:
    """On a terminal only."""
    exchange = heartbeat(client_id="x" * 40)
    exchange.api_key = 93
    exchange.version = 0
    exchange.response = None
    (line,) = lines_of(exchange)
    assert "x" * 40 in line
    assert "StreamsGroupTopologyDescriptionUpdate v0" in line
    line = lines_of(exchange, width=200)[1]
    assert "x" * 27 + "… " in line
    assert "StreamsGroupTopologyDesc… v0" in line


def test_a_new_day_has_a_new_header() -> None:
    """Times alone would be ambiguous."""
    lines = lines_of(heartbeat(), started(2, 86_400), width=200)
    assert [line[4:14] for line in lines if line.startswith("  #")] == ["2026-01-02", "2026-01-03"]


def numbers(lines: list[str]) -> list[int]:
    """Return the numbers of exchanges."""
    return [int(line.split()[0]) for line in lines]


def test_lines_of_files_are_in_the_order_of_time() -> None:
    """Exchanges are complete in another; a gap comes before what begins with it."""
    exchanges = [started(3, 0.3), started(1, 0.1), started(2, 0.2)]
    assert numbers(lines_of(*exchanges)) == [1, 2, 3]
    assert numbers(lines_of(*exchanges, is_prompt=True)) == [3, 1, 2]


def test_lines_wait_for_earlier_ones_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes later than that many others is printed when it comes."""
    monkeypatch.setattr("kdiag_cli.output.exchanges.lines.MAX_WAITING", 2)
    exchanges = [started(number, number) for number in (2, 3, 4, 5, 1, 6)]
    assert numbers(lines_of(*exchanges)) == [2, 3, 1, 4, 5, 6]


def test_columns_are_settled_by_the_first_lines_of_many() -> None:
    """Later ones follow at once; they may be wider."""
    many = [heartbeat(number) for number in range(1, 203)]
    assert len(lines_of(*many)) == 202


@pytest.mark.parametrize(
    ("style", "times"),
    [
        (TimeStyle.RELATIVE, ["       1.500000", "       2.000000"]),
        (TimeStyle.DELTA, ["       1.500000", "       0.500000"]),
    ],
)
def test_times_may_count_from_the_start_or_from_the_line_before(
    style: TimeStyle, times: list[str]
) -> None:
    """The start is the first packet, where that is known, or the first line."""
    exchanges = [started(1, 0), started(2, 0.5)]
    first_ns = START_NS - 1_500_000_000
    assert [each[4:19] for each in lines_of(*exchanges, style=style, first_ns=first_ns)] == times
    first, _ = lines_of(*exchanges, style=style)
    assert first[4:19] == "       0.000000"
    assert lines_of(*exchanges, style=style, width=100)[0].split()[:2] == ["#", "TIME"]


@for_each("width", [80, 150])
def test_the_header_names_the_zone_again_where_summer_time_ends(width: int) -> None:
    """On 2026-10-25 Berlin has the hour from 02:00 to 03:00 twice; a day of UTC has one header."""
    seconds = (SUMMER_ENDS_NS - START_NS) // 10**9
    exchanges = [started(number, seconds + number - 1) for number in (1, 2)]
    with times_shown_in(ZoneInfo("Europe/Berlin")):
        text = "\n".join(lines_of(*exchanges, width=width))
        piped = lines_of(*exchanges)
    assert text.index("2026-10-25 CEST") < text.index("02:59:59.") < text.index("2026-10-25 CET")
    assert text.index("2026-10-25 CET") < text.index("02:00:00.")
    assert ["02:59:59.000000+02:00" in piped[0], "02:00:00.000000+01:00" in piped[1]] == [True] * 2
    in_utc = "\n".join(lines_of(*exchanges, width=width))
    assert in_utc.count("2026-10-25 UTC") == in_utc.count("CET") + 1 == 1
    assert "01:00:00.000000Z" in lines_of(*exchanges)[1]


def test_connections_of_other_protocols_are_one_line_unless_each_is_asked_for() -> None:
    """The most frequent first; empty ones are nobody's."""
    redis = make_connection(protocol=Protocol.REDIS)
    others = [make_connection(protocol=Protocol.TLS), *[redis] * 1_200, make_connection(2)]
    empty = make_connection(protocol=Protocol.EMPTY)
    assert lines_of(*others, empty) == [
        "1,201 other connections: 1,200 Redis, 1 TLS (--all lists them)"
    ]
    assert lines_of(redis, width=30) == ["1 other connection: Redis", "(--all lists it)"]
    (line,) = lines_of(redis, lists_all=True)
    assert "not Kafka Redis, 0 B" in line


def test_hostile_names_do_not_make_endless_lines() -> None:
    """A thousand characters are enough to know one again."""
    (line,) = lines_of(make_exchange(HeartbeatRequest(group_id="x" * 30_000), version=3))
    assert len(line) < 1_200


def test_a_gap_is_a_line_of_its_own() -> None:
    """Missing bytes are not passed over in silence."""
    gap = Gap(
        connection=make_connection(),
        direction="response",
        time_ns=START_NS,
        offset=5,
        size=1_460,
        reason="never came",
    )
    (line,) = lines_of(gap)
    assert line.endswith(
        "gap 1.5 kB missing in the response stream: never came  10.0.0.1:40000 → 10.0.0.2:9092"
    )


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (UnansweredReason.IN_FLIGHT, "unanswered: in flight at the end of the capture"),
        (UnansweredReason.BROKER_RESET, "unanswered: reset by broker after 1.20 s"),
        (UnansweredReason.ANSWER_NOT_CAPTURED, "unanswered: answer not captured"),
    ],
)
def test_why_a_request_is_unanswered_is_told(reason: UnansweredReason, text: str) -> None:
    """With the time that it waited, where a close ended that."""
    asked = make_exchange(HeartbeatRequest(), version=3, pairing=Status.UNANSWERED)
    assert asked.request is not None
    asked.unanswered_reason = reason
    asked.connection.closed_ns = asked.request.last_byte_ns + 1_200_000_000
    (line,) = lines_of(asked)
    assert f" {text}; group " in line


def test_an_answer_to_no_request_is_told_as_a_violation() -> None:
    """It is not what a capture lacks."""
    told = make_exchange(None, b"\0\0\0\7\0", version=None, pairing=Status.UNMATCHED)
    told.is_violation = True
    (line,) = lines_of(told)
    assert "answers no request: protocol violation" in line


def test_troubles_of_connections_are_one_line_for_each_broker_and_kind() -> None:
    """Whatever the client random is; with --all each connection has its line."""
    made = [make_connection() for _ in range(5)]
    for connection in made[:3]:
        connection.protocol, connection.close_reason = Protocol.EMPTY, "refused"
    made[1].first_ns += 10 * 10**9
    for number, connection in enumerate(made[3:]):
        connection.protocol = Protocol.TLS
        connection.tls_problem = f"the key log has no secret for client random {number}"
    refused = "refused: a RST answered the SYN, so nothing listens there"
    day = "2026-01-02 03:04"
    told = [
        f"3 connections to 10.0.0.2:9092 from {day}:05.000000Z to {day}:15.000000Z: {refused}",
        f"2 connections to 10.0.0.2:9092 at {day}:05.000000Z: the key log has no secret",
    ]
    assert printed(made)[:2] == told
    every = printed(made, lists_all=True)
    assert every[-2:] == told
    assert sum(" connect refused: " in line for line in every) == 3
    assert sum(" TLS " in line and "client random 1" in line for line in every) == 1


def printed(connections: list[Connection], *, lists_all: bool = False) -> list[str]:
    """Return what is printed of connections in a pipe."""
    stream = Stream(is_terminal=False)
    output = Output(stream)
    lines = ExchangeLines(output, TopicNames(), BrokerIds(), lists_all=lists_all)
    for connection in connections:
        lines.connection(connection)
    lines.finish()
    output.flush()
    text: bytes = stream.buffer.getvalue()  # type: ignore[attr-defined]  # it is a BytesIO
    return text.decode().splitlines()


def test_the_other_addresses_of_a_connection_are_a_line() -> None:
    """With the time between both places, as far as it is known."""
    sighting = Sighting(client="10.0.0.99:5", broker="10.244.1.7:9092", request_hop_ns=31_000)
    (line,) = lines_of(make_connection(sightings=[sighting], protocol=Protocol.KAFKA))

    assert "as 10.0.0.99:5 → 10.244.1.7:9092; between the two 31 µs for requests" in line
