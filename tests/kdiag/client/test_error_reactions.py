"""What follows an error code, for each API and each code of Kafka."""

import pytest

from kdiag.client.error_reactions import Reaction, described, is_expected, reaction_to
from kdiag.wire.error_code import CODE_BY_NAME, ERROR_BY_CODE

ALL = sorted(name for name, code in CODE_BY_NAME.items() if code)


@pytest.mark.parametrize(
    "api",
    ["Fetch", "ListOffsets", "OffsetForLeaderEpoch", "OffsetFetch", "Metadata", "DescribeGroups"],
)
def test_every_error_of_kafka_has_a_reaction(api: str) -> None:
    """One that Kafka's clients would send the request again for is never over."""
    for name in ALL:
        reaction = reaction_to(api, name)
        is_over = reaction is Reaction.OVER
        assert not (is_over and ERROR_BY_CODE[CODE_BY_NAME[name]].is_retriable), name
        assert is_over or reaction in {Reaction.MOVED, Reaction.AGAIN}


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit"])
def test_what_a_coordinator_should_not_answer_is_over(api: str) -> None:
    """As for Kafka's members: also an error for which other requests are sent again."""
    for name in ALL:
        assert is_expected(api, name) or reaction_to(api, name) is Reaction.OVER
    assert not is_expected(api, "CORRUPT_MESSAGE")
    assert reaction_to(api, "NOT_COORDINATOR") is Reaction.MOVED
    assert is_expected(api, "REBALANCE_IN_PROGRESS")
    assert is_expected("Fetch", "REBALANCE_IN_PROGRESS")


def test_moves_are_those_of_leaders_or_of_coordinators() -> None:
    """A damaged batch says nothing about who leads."""
    assert reaction_to("Fetch", "NOT_LEADER_OR_FOLLOWER") is Reaction.MOVED
    assert reaction_to("OffsetFetch", "NOT_COORDINATOR") is Reaction.MOVED
    assert reaction_to("Fetch", "NOT_COORDINATOR") is Reaction.AGAIN
    assert reaction_to("Fetch", "CORRUPT_MESSAGE") is Reaction.AGAIN
    assert reaction_to("Fetch", "UNKNOWN_SERVER_ERROR") is Reaction.OVER


def test_an_error_that_is_not_in_the_table_is_over_and_named() -> None:
    """A newer broker may have errors that kdiag does not know."""
    assert reaction_to("Fetch", "UNKNOWN(999)") is Reaction.OVER
    assert described("UNKNOWN(999)") == "UNKNOWN(999)"
    assert described("CORRUPT_MESSAGE").startswith("CORRUPT_MESSAGE: a record batch is damaged")
    assert described("CORRUPT_MESSAGE").endswith("(kdiag errcode CORRUPT_MESSAGE)")
