import pytest

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.report.where import ExpressionError, Where
from kdiag.wire.api.fetch import FetchRequest, FetchTopic
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from recordings.exchange_maker import START_NS, make_exchange
from tiers.cases import for_each


def heartbeat() -> Exchange:
    """Return a heartbeat of the group `billing` that is told to rebalance after 2.5 ms."""
    asked = HeartbeatRequest(group_id="billing", generation_id=4)
    return make_exchange(asked, HeartbeatResponse(error_code=27), version=3)


def fetch() -> Exchange:
    """Return a fetch of two topics without a client id, unanswered."""
    asked = FetchRequest(topics=[FetchTopic("orders"), FetchTopic("order_lines")])
    return make_exchange(asked, version=4, client_id=None, pairing=Status.UNANSWERED)


def meets(exchange: Exchange, text: str) -> bool:
    """Return whether an exchange meets a condition."""
    return Where(text, now_ns=START_NS + 3_600 * 10**9)(Dissection(exchange), TopicNames())


@for_each(
    ("text", "is_met"),
    [
        ("latency_us > 2000 AND api = 'Heartbeat'", True),
        ("latency_us > 2000 and api = 'Fetch'", False),
        ("latency_us + transfer_us >= 2.5e3", True),
        ("latency_us / 0 > 1 OR version = 3", True),
        ("version * 2 - 1 = 5 AND -version < 0", True),
        ("NOT version = 3", False),
        ("version <> 3 OR version != 4", True),
        ("api IN ('Fetch', 'Heartbeat')", True),
        ("api NOT IN ('Fetch', 'Heartbeat')", False),
        ("api LIKE 'Heart%' AND client_id LIKE 'a_p'", True),
        ("api LIKE 'heart%'", False),
        ("api ILIKE 'heart%'", True),
        ("version BETWEEN 2 AND 3 AND correlation_id NOT BETWEEN 8 AND 9", True),
        ("error IS NULL", False),
        ("error = 'REBALANCE_IN_PROGRESS' AND error IS NOT NULL", True),
        ("groups = 'billing' AND 'billing' = groups AND groups LIKE 'b%'", True),
        ("groups <> 'billing'", False),
        ("groups IN ('a', 'billing') AND topics NOT LIKE '%'", True),
        ("guessed OR TRUE AND FALSE", False),
        ("NOT guessed = TRUE", True),
        ("time >= '2026-01-02T03:04:05Z' AND time < '2026-01-02T03:04:06Z'", True),
        ("time < '-1h'", False),
        ("end_time > time", True),
        ("request_body LIKE '%\"generationId\":4%'", True),
        ("response_bytes < request_bytes AND request_status = 'ok'", True),
        ("request_why IS NULL AND status = 'ok'", True),
        ("\"API\" = 'Heartbeat' AND 'it''s' <> client_id", True),
        ("(((version))) = (3)", True),
    ],
)
def test_a_condition_is_that_of_sql(text: str, is_met: bool) -> None:  # noqa: FBT001 - of the table
    """Columns are those of the table `exchanges`, words in capitals or not."""
    assert meets(heartbeat(), text) is is_met


@for_each(
    ("text", "is_met"),
    [
        ("latency_us > 0", False),
        ("NOT latency_us > 0", False),
        ("latency_us > 0 OR version = 4", True),
        ("version = 4 OR latency_us > 0", True),
        ("latency_us > 0 AND version = 5 OR NOT (latency_us > 0 AND version = 5)", True),
        ("client_id = 'app' OR client_id <> 'app'", False),
        ("client_id LIKE '%'", False),
        ("response_bytes IS NULL AND response_body IS NULL", True),
        ("latency_us + 1 IS NULL", True),
        ("topics = 'orders' AND topics LIKE '%lines' AND NOT topics = 'payments'", True),
    ],
)
def test_what_is_null_meets_no_condition_and_no_denial(
    text: str,
    is_met: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    """NULL is neither true nor false."""
    assert meets(fetch(), text) is is_met


@for_each(
    ("text", "start", "why"),
    [
        ("latency > 5", 0, "did you mean latency_us"),
        ("api = Fetch", 6, "the columns are number, time"),
        ('api = "Fetch"', 6, "single quotation marks: 'Fetch'"),
        ("api = 'Fetch", 6, "never closed"),
        ("api ~ 'Fetch'", 4, "is not understood"),
        ("version", 0, "compare it with something"),
        ("version = 3 AND", 15, "expected a column or a value, not the end"),
        ("version = 3 version", 12, "expected AND, OR or the end"),
        ("version = 'x'", 0, "a number cannot be compared with a text"),
        ("api = NULL", 6, "IS NULL"),
        ("api NOT = 'x'", 8, "expected IN, LIKE or BETWEEN"),
        ("api LIKE version", 9, "expected a pattern"),
        ("version LIKE '3%'", 0, "LIKE looks at texts"),
        ("request_why = request_why", 0, "only IS NULL"),
        ("topics > 'a'", 0, "use =, <>, IN or LIKE"),
        ("api + 1 = 2", 0, "only numbers"),
        ("time > 'yesterday'", 7, "is not a moment"),
        ("(version = 3", 12, "expected ), not the end"),
        ("(" * 51 + "TRUE" + ")" * 51, 50, "deeper than 50"),
        ("NOT " * 51 + "TRUE", 200, "deeper than 50"),
        ("", 0, "expected a column"),
    ],
)
def test_what_is_wrong_is_shown_at_its_place(text: str, start: int, why: str) -> None:
    """The condition is repeated with a mark below the fault."""
    with pytest.raises(ExpressionError) as caught:
        Where(text)
    assert caught.value.start == start
    assert why in str(caught.value)
    assert str(caught.value).splitlines()[-1].index("^") == start + 2


@pytest.mark.thorough
def test_a_condition_of_any_length_ends() -> None:
    """What is too long to be meant is refused."""
    with pytest.raises(ExpressionError, match="longer than"):
        Where("version = 3 OR " * 1_000 + "TRUE")
    assert meets(heartbeat(), "version = 4 OR " * 600 + "TRUE")
