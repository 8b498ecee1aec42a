import pytest

from kdiag.lab.coordinator.group.classic.group_member import (
    ClassicGroupMember,
    MemberProtocol,
    MemberTimeouts,
)


def member(*protocols: str) -> ClassicGroupMember:
    """Return a member that can some protocols."""
    return ClassicGroupMember(
        "a",
        protocol_type="consumer",
        protocols=[MemberProtocol(each, each.encode()) for each in protocols],
        timeouts=MemberTimeouts(60_000, 10_000),
    )


def test_a_member_votes_for_its_first_candidate() -> None:
    """In its own order."""
    assert member("range", "roundrobin").vote({"roundrobin", "range"}) == "range"
    assert member("range", "roundrobin").vote({"blah", "roundrobin"}) == "roundrobin"


def test_a_member_cannot_vote_for_what_it_cannot() -> None:
    """That is an error of whoever asks."""
    with pytest.raises(ValueError, match="can none of blah"):
        member("range").vote({"blah"})


def test_metadata_is_that_of_the_protocol() -> None:
    """Nothing for one that it cannot."""
    assert member("range", "roundrobin").metadata("roundrobin") == b"roundrobin"
    assert member("range").metadata("blah") == b""
    assert member("range").metadata(None) == b""


def test_a_member_that_waits_need_not_be_heard_of() -> None:
    """But a new one, for it may have gone."""
    waiting = member("range")
    seen = [waiting.has_satisfied_heartbeat]
    waiting.on_joined = lambda _: None
    seen.append(waiting.has_satisfied_heartbeat)
    waiting.is_new = True
    seen.append(waiting.has_satisfied_heartbeat)
    waiting.is_heard = True
    seen.append(waiting.has_satisfied_heartbeat)
    assert seen == [False, True, False, True]


def test_who_waits_for_its_assignment_need_not_be_heard_of() -> None:
    """Nor one that is answered just now."""
    waiting = member("range")
    waiting.on_synced = lambda _: None
    assert waiting.is_awaiting_sync
    assert waiting.has_satisfied_heartbeat
