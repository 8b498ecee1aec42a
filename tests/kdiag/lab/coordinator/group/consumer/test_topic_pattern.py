import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.consumer.topic_pattern import TopicPattern
from tiers.cases import for_each

GOOD = (
    "orders",
    "orders-.*",
    "^orders$",
    "(^a|b$)",
    "a|b|",
    "(?:ab)+",
    "a{2}",
    "a{2,}",
    "a{1,3}?b",
    "(a|b){0,2}",
    "[a-c]+",
    "[^a]*",
    "[]a]",
    "[a-]",
    r"\d+\.\w",
    r"[\d.]+",
    r"\S\D\W",
    "a+?",
    "",
    "()",
)
BAD = (
    "(",
    ")",
    "a)",
    "[a",
    "[",
    "*",
    "a**",
    "a{",
    "a{x}",
    "a{3,2}",
    "a{1001}",
    "{2}",
    "(?=a)",
    "(?P<n>a)",
    r"\1",
    r"\p{L}",
    "\\",
    "[z-a]",
    "a]",
    "a$b",
    "a^b",
    "((a{1000}){1000}){1000}",
    "(" * 200 + ")" * 200,
)


@for_each("text", GOOD)
def test_a_pattern_matches_what_it_does_elsewhere(text: str) -> None:
    """The whole name has to match."""
    pattern = TopicPattern(text)
    for name in (
        "",
        "a",
        "b",
        "ab",
        "abab",
        "aa",
        "aab",
        "aaaa",
        "orders",
        "orders-eu",
        "1.x",
        "]",
        "-",
        "c",
        "1",
        ".a!",
    ):
        assert pattern.matches(name) is bool(re.fullmatch(text, name)), name


@for_each("text", BAD)
def test_what_is_no_pattern_is_refused(text: str) -> None:
    """So is what would be too large."""
    with pytest.raises(RequestRefusedError, match="INVALID_REGULAR_EXPRESSION"):
        TopicPattern(text)


def test_no_pattern_takes_long() -> None:
    """Elsewhere these take forever."""
    assert not TopicPattern("(a+)+").matches("a" * 249 + "!")
    assert not TopicPattern("(a|a)*b").matches("a" * 249)
    assert TopicPattern("(a?){100}a{100}").matches("a" * 100)


@pytest.mark.thorough
@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("ab|*+?()[]{}^$\\.-1,"), max_size=12), st.text("ab1-", max_size=6))
def test_whatever_is_said_is_read_or_refused(text: str, name: str) -> None:
    """And matches as elsewhere, where that can be read at all."""
    try:
        pattern = TopicPattern(text)
    except RequestRefusedError:
        return
    try:
        expected = re.compile(text)
    except re.error:
        return
    assert pattern.matches(name) is bool(expected.fullmatch(name))
