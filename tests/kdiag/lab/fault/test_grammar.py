import pytest

from kdiag.clock import NS_PER_MS
from kdiag.errors import ConfigError
from kdiag.lab.fault.grammar import error_fields, fault_of, parse_fault, text_of
from kdiag.lab.fault.rule import FaultEffect, FaultMatch, FaultRule
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY
from tiers.cases import for_each


def test_a_fault_is_words() -> None:
    """The first without a key is the API."""
    text = 'Fetch topic=orders client_id="my app" delay=200ms p=0.1'
    assert parse_fault(text) == FaultRule(
        match=FaultMatch(apis=("Fetch",), topic="orders", client_id="my app", p=0.1),
        effect=FaultEffect(delay_ns=200 * NS_PER_MS),
        text=text,
    )


def test_a_fault_may_be_flags_alone() -> None:
    """Then it concerns every API."""
    assert parse_fault("half_open").effect.is_half_open
    assert parse_fault("Produce error=REQUEST_TIMED_OUT handled").effect.is_handled


def test_a_mapping_is_the_same_fault() -> None:
    """Its text can be parsed again."""
    rule = fault_of(
        {"api": ["Fetch", "Produce"], "topic": "a b", "partition": 3, "half_open": True}, "file"
    )
    assert rule.text == 'Fetch,Produce topic="a b" partition=3 half_open'
    assert parse_fault(rule.text) == rule
    assert text_of({"api": "Fetch", "p": "0.1"}) == "Fetch p=0.1"


@for_each(
    ("text", "place", "why"),
    [
        ("Fetch topc=orders delay=1s", "column 7", "did you mean topic?"),
        ("Fetch  delay=1", "column 8", "write 1ms or 1s"),
        ('Fetch topic="orders delay=1s', "column 13", "a quote is not closed"),
        ("Fetch delay=1s delay=2s", "column 16", "delay is there already"),
        ("Fetchh delay=1s", "column 1", "is not an API"),
        ("Fetch Produce delay=1s", "column 7", "is not a key"),
        ("Fetch topic=orders", "--fault", "nothing happens"),
        ("", "--fault", "nothing happens"),
        ("Fetch field=errorCode delay=1s", "--fault", "there is none"),
        ("Fetch drop=answer close=after", "--fault", "cannot be both"),
        ("Fetch stall=3 close=middle", "--fault", "cannot be both"),
        ("Fetch error=NOT_COORDINATOR field=topics.errorCode", "--fault", "not a field of Fetch"),
        ("x" * 5000, "--fault", "at most 4096"),
    ],
)
def test_a_wrong_fault_says_where_and_what_was_expected(text: str, place: str, why: str) -> None:
    """In one sentence."""
    with pytest.raises(ConfigError) as caught:
        parse_fault(text)
    assert place in str(caught.value)
    assert why in str(caught.value)


def test_a_wrong_mapping_says_which_key() -> None:
    """As the text does."""
    with pytest.raises(ConfigError, match=r"file, delay: delay: '5' has no unit"):
        fault_of({"delay": 5}, "file")
    with pytest.raises(ConfigError, match="a text, a number, true or false"):
        fault_of({"delay": {}}, "file")


def test_the_fields_for_an_error_are_kafkas_own() -> None:
    """By their paths."""
    assert error_fields(API_BY_KEY[api_keys.FETCH]) == (
        "errorCode",
        "responses.partitions.errorCode",
    )
