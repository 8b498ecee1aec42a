import json
from datetime import UTC, datetime
from typing import Any

from kdiag_cli.commands.report.page.kept_exchanges import KeptExchanges
from tiers.cases import for_each


def row(number: int, **changes: Any) -> dict[str, Any]:
    """Return an exchange as the question `kept_exchanges` answers."""
    return {
        "number": number,
        "time": datetime(2026, 1, 2, 3, 4, 5, 600_007, UTC),
        "connection": 1,
        "client": "10.0.0.1:40000",
        "client_host": "10.0.0.1",
        "broker": "10.0.0.2:9092",
        "client_id": "app",
        "api": "Fetch",
        "version": 12,
        "correlation_id": 7,
        "status": "ok",
        "latency_us": 1_500.0,
        "transfer_us": None,
        "error": None,
        "topics": ["orders"],
        "groups": [],
        "request_bytes": 100,
        "response_bytes": 2_000,
        "request_first_packet": 10,
        "request_last_packet": 10,
        "response_first_packet": 12,
        "response_last_packet": 14,
        "request_segments": 1,
        "response_segments": 2,
        "unanswered_reason": None,
        "reasons": "slow",
        "request_body": '{"maxWaitMs":500}',
        "response_body": json.dumps({"responses": list(range(5)), "text": "x" * 500}),
        "request_is_cut": False,
        "response_is_cut": False,
    } | changes


@for_each(
    ("wanted", "anchor"),
    [
        ({"api": "Fetch"}, "exchange-1"),
        ({"reason": "wrong"}, "exchange-2"),
        ({"problem": "NOT_COORDINATOR"}, "exchange-2"),
        ({"problem": "unanswered"}, ""),
        ({"packet": 13, "client_id": "app"}, "exchange-1"),
        ({"packet": 11}, ""),
        ({"client_id": "other"}, ""),
    ],
)
def test_a_link_leads_to_the_slowest_that_fits(wanted: dict[str, Any], anchor: str) -> None:
    """Where none does, the text is shown and leads nowhere."""
    kept = KeptExchanges(
        [
            row(4),
            row(5, latency_us=2_000.0),
            row(6, api="JoinGroup", error="NOT_COORDINATOR", reasons="wrong rebalance"),
        ]
    )

    assert kept.link("text", **wanted) == ("text", anchor)


def test_an_exchange_is_shown_with_its_facts_and_bodies() -> None:
    """Long lists and long texts are cut, and what is not known is left out."""
    (detail,) = KeptExchanges([row(4)]).details()
    facts = dict(detail.facts)
    request, response = detail.texts

    assert detail.summary == "03:04:05.600007  Fetch v12  app → 10.0.0.2:9092  1.50 ms"
    assert facts["number"] == "4 (kdiag decode --show 4)"
    assert facts["response"] == "2.0 kB in 2 segments, packets 12 to 14"
    assert "error" not in facts
    assert request == ("request", '{\n "maxWaitMs": 500\n}')
    assert '"… 2 more"' in response[1]
    assert "x… 100 more letters" in response[1]


def test_bodies_that_are_not_there_or_cut_are_told() -> None:
    """A body that is too large is shown as it is, up to where it is cut."""
    changes = {"request_body": None, "response_is_cut": True, "response_body": "[1, " * 2_000}
    (detail,) = KeptExchanges([row(4, **changes)]).details()

    assert detail.texts[0] == ("request", "not in the tables, or not readable")
    assert detail.texts[1][1].endswith("… cut here")
    assert len(detail.texts[1][1]) < 6_100


def test_the_slowest_come_first() -> None:
    """Those without a latency do not count."""
    kept = KeptExchanges([row(4), row(5, latency_us=None), row(6, latency_us=9e6)])

    assert [(one["number"], anchor) for one, anchor in kept.slowest(5)] == [
        (6, "exchange-2"),
        (4, "exchange-0"),
    ]
