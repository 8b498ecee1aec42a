import json

from folders import CAPTURES
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Protocol
from kdiag.exchange.summary.counts import Summary, Totals
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag_cli.commands.decode.summary import print_head, print_tables
from programs.kdiag_program import Printed, kdiag
from recordings.exchange_maker import make_connection, make_exchange

REQUEST = HeartbeatRequest(group_id="g", member_id="m")


SLOW = "1        2.50 ms  Heartbeat v3  app        10.0.0.1:40000  10.0.0.2:9092  03:04:05.000"


def summary_of(count: int = 1, **changes: object) -> Summary:
    """Return the summary of heartbeats."""
    summary = Summary(TopicNames())
    for _ in range(count):
        summary.add(
            Dissection(
                make_exchange(REQUEST, HeartbeatResponse(error_code=27), version=3, **changes)
            )
        )
    return summary


def printed(summary: Summary, totals: Totals, width: int | None = None) -> list[str]:
    """Return the lines of a summary."""
    output = Printed(width)
    print_head(output, summary, totals)
    print_tables(output, summary, totals)
    return output.lines


def test_a_summary_starts_with_what_was_read() -> None:
    """Numbers have their units, thousands are set apart."""
    totals = Totals(
        packets=12_345, bytes=3_200_000, first_ns=0, last_ns=1_500_000_000, connections=1
    )

    assert printed(summary_of(2), totals)[0] == (
        "12,345 packets, 3.2 MB, 1.500 s, 1 connection, 2 exchanges"
    )


def test_a_summary_tells_when_it_was_and_how_much_there_is_in_a_second() -> None:
    """Not of what took less; the day stands twice where there are two."""
    at = 1_767_323_045 * 10**9
    totals = Totals(bytes=3_000_000, first_ns=at, last_ns=at + 2 * 10**9)
    assert printed(summary_of(30), totals)[1] == (
        "2026-01-02 03:04:05 to 03:04:07 UTC, 15 exchanges/s, 1.5 MB/s"
    )
    totals.last_ns = at + 10**8
    assert printed(summary_of(30), totals)[1] == "2026-01-02 03:04:05 to 03:04:05 UTC"
    totals.last_ns = at + 86_400 * 10**9
    assert printed(summary_of(30), totals)[1].startswith(
        "2026-01-02 03:04:05 to 2026-01-03 03:04:05 UTC, 0.0 exchanges/s"
    )


def test_latencies_have_bars_on_a_terminal() -> None:
    """From the median to the 99th percentile, each tenfold as wide as the one before."""
    lines = printed(summary_of(), Totals(), 120)
    wide = next(line for line in lines if "Heartbeat" in line)
    assert "█████████" in wide
    assert "█" not in "".join(printed(summary_of(), Totals()))


def test_the_slowest_exchanges_are_told_with_their_numbers() -> None:
    """Five of them, for `--show`."""
    summary = Summary(TopicNames())
    for number in range(1, 9):
        exchange = make_exchange(REQUEST, HeartbeatResponse(), version=3, number=number)
        assert exchange.response is not None
        exchange.response.first_byte_ns += number * 10**9
        exchange.response.last_byte_ns += number * 10**9
        summary.add(Dissection(exchange))
    lines = printed(summary, Totals())
    (start,) = (place for place, line in enumerate(lines) if line.startswith("SLOWEST"))

    assert [line.split()[0] for line in lines[start + 1 : start + 6]] == ["8", "7", "6", "5", "4"]
    assert lines[start + 1].split()[1:5] == ["8.00", "s", "Heartbeat", "v3"]
    assert len(lines) == start + 6


def test_a_summary_counts_by_api_status_error_and_client() -> None:
    """Numbers are aligned to the right."""
    lines = printed(summary_of(1234), Totals())

    assert (
        lines[1:]
        == [
            "1,234 requests: 1,234 answered with an error",
            "",
            "STATUS  COUNT",
            "ok      1,234",
            "",
            "ERROR                  COUNT",
            "REBALANCE_IN_PROGRESS  1,234",
            "",
            "API           REQUESTS  RESPONSES  BYTES      P50      P99      MAX",
            "Heartbeat v3     1,234      1,234  43 kB  2.50 ms  2.50 ms  2.50 ms",
            "",
            "CLIENT-ID  COUNT",
            "app        1,234",
            "",
            "SLOWEST  TOOK     API           CLIENT-ID  CLIENT          BROKER         TIME",
            SLOW,
        ]
        + [lines[-1]] * 4
    )


def test_a_summary_names_clients_harmlessly() -> None:
    """A client without an id is a dash."""
    lines = printed(summary_of(client_id="\x1b[2J"), Totals())
    assert "\\x1b[2J        1" in lines

    assert "-              1" in printed(summary_of(client_id=None), Totals())


def test_a_long_list_ends_with_how_many_are_left_out() -> None:
    """Twenty clients are named."""
    summary = Summary(TopicNames())
    for number in range(25):
        summary.add(Dissection(make_exchange(REQUEST, version=3, client_id=f"client-{number:02}")))

    lines = printed(summary, Totals())

    assert lines[-1].split() == ["…", "5", "more", "5"]
    assert sum(line.startswith("client-") for line in lines) == 20


def test_protocols_are_told_if_there_is_more_than_kafka() -> None:
    """The client's software comes from its own words."""
    summary = Summary(TopicNames())
    summary.add_connection(make_connection(client_software=("librdkafka", "2.16.0")))
    lines = printed(summary, Totals())
    assert lines[1:] == [
        *("", "BROKER         COUNT", "10.0.0.2:9092      1"),
        *("", "CLIENT SOFTWARE    COUNT", "librdkafka 2.16.0      1"),
    ]

    summary.add_connection(make_connection(protocol=Protocol.TLS))

    assert printed(summary, Totals())[-3:] == [
        "PROTOCOL  COUNT",
        "Kafka         1",
        "TLS           1",
    ]


def test_losses_and_warnings_end_a_summary() -> None:
    """Whoever reads the numbers learns that they are not all."""
    totals = Totals(duplicates=2, gaps=1, gap_bytes=1500, warnings=["a.pcap: is cut\x07"])

    assert printed(Summary(TopicNames()), totals) == [
        "0 packets, 0 B, 0.000 s, 0 connections, 0 exchanges",
        "",
        "2 segments carried nothing new",
        "",
        "1 gap, 1.5 kB missing",
        "a.pcap: is cut\\x07",
    ]


def test_the_account_of_the_packets_is_the_last_line() -> None:
    """Traffic that is not TCP is in every capture."""
    totals = Totals(closing_line="passed over 3 of 20 packets: 3 ARP")

    assert printed(Summary(TopicNames()), totals)[-2:] == ["", totals.closing_line]


def test_a_summary_counts_rebalances_by_their_causes() -> None:
    """In words; without any there is no table."""
    output = Printed()
    causes = {"member_joined": 3, "poll_timeout": 1}
    print_tables(output, summary_of(2), Totals(), causes, {"billing": 4})
    start = output.lines.index("GROUP    COUNT")

    assert output.lines[start : start + 6] == [
        "GROUP    COUNT",
        "billing      4",
        "",
        "REBALANCE      COUNT",
        "member joined      3",
        "poll timeout       1",
    ]
    assert not any("REBALANCE " in line for line in printed(summary_of(2), Totals()))


def test_the_summary_of_a_capture_counts_its_rebalances() -> None:
    """As `kdiag rebalance explain` tells them, the commonest first; of what is chosen alone."""
    capture = CAPTURES / "rebalance.pcap"
    whole = json.loads(kdiag("decode", capture, "--summary", "-o", "json").out)
    some = json.loads(kdiag("decode", capture, "--summary", "--api", "Fetch", "-o", "json").out)

    assert whole["rebalances"] == {"member_joined": 2, "member_left": 2}
    assert sum(whole["groups"].values()) == 4
    assert some["rebalances"] == {}
