from pathlib import Path
from typing import Any

import pytest

from group_stories.recorded_groups import NAMES, histories_of_capture, recorded_group
from group_stories.story import MS, GroupStory, client_of
from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.findings import find, find_all, joined
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.exchange.line.shown_time import time_of_day
from kdiag.findings.finding import Finding, found
from kdiag.findings.rule import Severity
from tiers.cases import for_each


def findings_of(story: GroupStory) -> list[Finding]:
    """Return what is wrong with the one group of a story."""
    (history,) = histories_of(story.events, "capture")
    return find(history)


def restarts(*members: str, away_s: float = 5, **facts: Any) -> GroupStory:
    """Return a group whose members leave and come back in turn, each as a new member."""
    story = GroupStory()
    story.form(1, "keeper", *members)
    generation = 1
    for member in members:
        client = client_of(member)._replace(connection=f"tcp-{member}-again")
        story.leave(member)
        story.join(generation + 1, "keeper", *(each for each in members if each != member))
        story.wait(away_s)
        new = story.ask("", client=client, **facts)
        asked = story.ask("keeper")
        generation += 2
        story.answer(new, generation, member_id=f"{member}-again")
        present = ["keeper", *members, f"{member}-again"]
        story.answer(asked, generation, members=dict.fromkeys(present))
    return story


def test_a_healthy_group_has_no_findings() -> None:
    """Two members that came and stayed."""
    story = GroupStory()
    story.form(1, "a")
    story.form(2, "a", "b")
    story.beat("a", 2)

    assert findings_of(story) == []


FOUND = {
    "reb_crash_confluent": ["KD3314"],
    "reb_slow_confluent": ["KD3306"],
    "reb_static_java": ["KD3304", "KD3314"],
}
"""What is wrong in recordings: a member that was killed, one that is slow, two of one instance."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_groups_of_all_clients_have_the_findings_that_they_are_to_have(
    name: str, tmp_path: Path
) -> None:
    """librdkafka, kafka-python, Java and Platformatic, of every kind of group: mostly none."""
    histories = histories_of_capture(recorded_group(name).capture, tmp_path)

    assert [each.id for each in find_all(histories)] == FOUND.get(name, [])


def test_a_group_that_rebalances_again_and_again_is_a_storm() -> None:
    """Ten times within five minutes; the commonest cause is named."""
    for pause_s, ids in ((10, {"KD3301", "KD3302"}), (60, {"KD3302"})):
        story = GroupStory()
        story.form(1, *(f"m{number}" for number in range(12)))
        for generation in range(2, 13):
            story.wait(pause_s)
            story.leave("culprit", client=client_of("culprit"))
            story.form(generation, *(f"m{number}" for number in range(12)))
        findings = {each.id: each for each in findings_of(story)}
        assert findings.keys() == ids
        assert findings["KD3302"].evidence["client"] == "app-culprit"
        if "KD3301" in findings:
            assert findings["KD3301"].evidence["cause"] == "member_left"
            assert "the commonest cause is: member left." in findings["KD3301"].fix


@pytest.mark.parametrize(("timeouts", "ids"), [(6, ["KD3306"]), (10, ["KD3301", "KD3306"])])
def test_a_member_that_comes_back_from_a_poll_timeout_makes_no_storm(
    timeouts: int, ids: list[str]
) -> None:
    """Each poll timeout makes two rebalances, and is one cause."""
    story = GroupStory()
    story.form(1, "a", "b")
    for number in range(timeouts):
        story.leave("b", reason="consumer poll timeout has expired.")
        story.form(2 + 2 * number, "a")
        asked = story.ask("", client=client_of("b"))
        story.answer(story.ask("a"), 3 + 2 * number, members=dict.fromkeys(["a", "b"]))
        story.answer(asked, 3 + 2 * number, member_id="b")
    findings = findings_of(story)

    assert [each.id for each in findings] == ids
    assert all(each.evidence.get("cause", "poll_timeout") == "poll_timeout" for each in findings)


def late_join(
    told_s: float, joins_s: float, *, beats_s: float = 3, refusal: str | None = None
) -> GroupStory:
    """Return a group whose member `slow` joins last.

    Args:
        told_s: when its heartbeat has it join, in seconds behind the other's JoinGroup.
        joins_s: how much later it does.
        beats_s: how long before that heartbeat it sent the last one.
        refusal: what its JoinGroup is answered meanwhile, if that fails.
    """
    story = GroupStory()
    story.form(1, "a", "slow")
    story.beat("slow", 1, asked_ns=story.now_ns)
    story.wait(max(0, beats_s - told_s))
    story.leave("gone")
    first = story.ask("a")
    story.wait(told_s)
    story.beat("slow", 1, error="REBALANCE_IN_PROGRESS", asked_ns=story.now_ns)
    if refusal is not None:
        story.answer(story.ask("slow"), -1, error=refusal)
    story.wait(joins_s)
    last = story.ask("slow")
    story.answer(last, 2)
    story.answer(first, 2, members={"a": None, "slow": None})
    return story


@pytest.mark.parametrize(
    ("facts", "ids"),
    [
        ({"told_s": 0.1, "joins_s": 3.2}, ["KD3303"]),
        ({"told_s": 0.1, "joins_s": 2.5}, []),
        ({"told_s": 5, "joins_s": 3.2, "beats_s": 6}, ["KD3303"]),
        ({"told_s": 5, "joins_s": 0.01, "beats_s": 6}, ["KD3313"]),
        ({"told_s": 2.9, "joins_s": 0.2, "beats_s": 3}, []),
        ({"told_s": 3, "joins_s": 0.2, "beats_s": 3}, []),
        ({"told_s": 0.1, "joins_s": 4, "refusal": "NOT_COORDINATOR"}, ["KD3310"]),
        ({"told_s": 0.1, "joins_s": 4, "refusal": "COORDINATOR_LOAD_IN_PROGRESS"}, ["KD3310"]),
    ],
)
def test_a_member_is_blamed_from_when_it_knows(facts: dict[str, Any], ids: list[str]) -> None:
    """Until its next heartbeat it cannot know; what the coordinator takes is not its program's."""
    findings = findings_of(late_join(**facts))

    assert [each.id for each in findings] == ids
    for each in findings:
        if each.id != "KD3310":
            assert each.evidence["client"] == "app-slow"
            assert each.evidence["told_s"] == pytest.approx(facts["told_s"], abs=0.1)
            assert each.evidence["program_ms"] == pytest.approx(facts["joins_s"] * 1000, abs=10)
            assert ("max.poll.records" in each.fix) == (each.id == "KD3303")


def test_a_member_that_joins_last_unasked_is_not_blamed() -> None:
    """It is not known when it learned of the rebalance."""
    story = GroupStory()
    story.form(1, "a", "slow")
    story.leave("gone")
    first = story.ask("a")
    story.wait(5)
    story.answer(story.ask("slow"), 2)
    story.answer(first, 2, members={"a": None, "slow": None})

    assert findings_of(story) == []


def fenced(*, times: int = 1, other_port: int | None = 2, is_joined: bool = True) -> GroupStory:
    """Return a group whose static member `a` is answered that another has its instance id.

    Args:
        times: how often.
        other_port: of the process that joins with it last; None if that was not seen.
        is_joined: whether the first process was seen to join.
    """
    story = GroupStory()
    one = client_of("a")._replace(port=1)
    if is_joined:
        asked = story.ask("a", instance_id="pod-1", client=one)
        story.answer(asked, 1, members={"a": "pod-1"})
    if other_port is not None:
        two = one._replace(connection=f"tcp-{other_port}", port=other_port, client_id="second")
        story.answer(story.ask("", instance_id="pod-1", client=two), 1, member_id="b")
    for _ in range(times):
        error = "FENCED_INSTANCE_ID"
        story.beat("a", 1, error=error, client=one, instance_id="pod-1")
    return story


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "was fenced at 00:00:01.005 by second at 10.0.0.97 (port 2), and has not joined"),
        ({"is_joined": False}, "was fenced at 00:00:01.003 by second at 10.0.0.97 (port 2)"),
        ({"times": 2}, "was fenced 2 times, first at 00:00:01.005 by second"),
        ({"times": 2, "other_port": None}, "was fenced 2 times, first at 00:00:01.003"),
        ({"other_port": 1}, None),
        ({"other_port": None}, None),
        ({"times": 0}, None),
    ],
)
def test_two_processes_with_one_instance_id(facts: dict[str, Any], said: str | None) -> None:
    """One fencing is enough where another connection has it; a client may fence itself once."""
    findings = findings_of(fenced(**facts))

    assert [each.id for each in findings] == ([] if said is None else ["KD3304"])
    for each in findings:
        assert each.evidence["instance_id"] == "pod-1"
        assert each.evidence["hosts"] == client_of("a").host
        assert str(said) in each.title


def test_a_static_member_is_one_whatever_ids_it_had() -> None:
    """Each start, and each fencing, gives it another."""
    story = fenced()
    story.answer(story.ask(""), 2, member_id="dynamic")
    (history,) = histories_of(story.events, "capture")

    assert (len(history.members), history.member_count) == (3, 2)


@pytest.mark.parametrize("asks", ["zombie", "", None])
def test_a_zombie_was_removed_while_it_lived(asks: str | None) -> None:
    """It fell silent for its session timeout, and asks again later: nothing was restarted."""
    story = GroupStory()
    story.form(1, "a", "zombie")
    story.beat("zombie", 1)
    silent_ns = story.now_ns
    story.wait(12)
    story.beat("a", 1, error="REBALANCE_IN_PROGRESS")
    story.form(2, "a")
    story.wait(3)
    if asks is not None:
        story.beat(asks, 1, error="UNKNOWN_MEMBER_ID", client=client_of("zombie"))
    back_ns = story.now_ns
    if asks is None:
        story.answer(story.ask("", client=client_of("zombie")), 3, member_id="new")
        back_ns += MS

    (finding,) = findings_of(story)

    assert finding.id == "KD3305"
    assert (finding.evidence["client"], finding.evidence["timeout_s"]) == ("app-zombie", 10)
    assert finding.title == (
        f"app-zombie at {client_of('zombie').host} stood still from {time_of_day(silent_ns)} to "
        f"{time_of_day(back_ns)}, and was removed from group orders while it lived: generation 2 "
        "is without it"
    )


@pytest.mark.parametrize(("silent_s", "ids"), [(12, ["KD3314"]), (5, [])])
def test_a_member_that_is_silent_until_it_is_removed_failed(
    silent_s: float, ids: list[str]
) -> None:
    """Gone before its session can have expired it may have left, too."""
    story = GroupStory()
    story.form(1, "a", "killed")
    story.beat("killed", 1)
    story.wait(silent_s)
    story.beat("a", 1, error="REBALANCE_IN_PROGRESS")
    story.form(2, "a")

    assert [each.id for each in findings_of(story)] == ids


@pytest.mark.parametrize("count", [1, 2])
def test_a_program_that_does_not_poll(count: int) -> None:
    """Its client says so when it leaves."""
    story = GroupStory()
    story.form(1, "a", "b")
    for number in range(count):
        story.leave("b", reason="consumer poll timeout has expired.")
        story.form(2 + 2 * number, "a")
        story.form(3 + 2 * number, "a", "b")

    (finding,) = findings_of(story)

    assert finding.id == "KD3306"
    assert finding.evidence["confidence"] == "certain"
    assert ("once" in finding.title, "2 times" in finding.title) == (count == 1, count == 2)


@pytest.mark.parametrize(("count", "said"), [(1, "1 commit of"), (2, "2 commits of")])
def test_refused_commits_are_lost(count: int, said: str) -> None:
    """By their errors."""
    story = GroupStory()
    story.form(1, "a")
    for _ in range(count):
        story.beat("a", 1, error="ILLEGAL_GENERATION", is_heartbeat=False)

    (finding,) = findings_of(story)

    assert finding.id == "KD3307"
    assert finding.title.startswith(said)
    assert finding.evidence["errors"] == f"ILLEGAL_GENERATION {count}"


@pytest.mark.parametrize(
    "error",
    [
        "REBALANCE_IN_PROGRESS",
        "TOPIC_AUTHORIZATION_FAILED",
        "OFFSET_METADATA_TOO_LARGE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ],
)
def test_other_errors_of_commits_lose_no_generation(error: str) -> None:
    """They are refusals, which are counted as such."""
    story = GroupStory()
    story.form(1, "a")
    story.beat("a", 1, error=error, is_heartbeat=False)

    assert findings_of(story) == []


def test_a_deploy_that_restarts_members_one_by_one() -> None:
    """Three of them, each back within five minutes, without an instance id."""
    for story, ids in (
        (restarts("x", "y", "z"), ["KD3308"]),
        (restarts("x", "y"), []),
        (restarts("x", "y", "z", away_s=400), []),
    ):
        assert [each.id for each in findings_of(story)] == ids


def test_a_static_member_that_comes_back_again_and_again() -> None:
    """Each time it is given another id; nobody rebalances, so nothing else would tell."""
    for returns, ids in ((3, ["KD3309"]), (2, [])):
        story = GroupStory()
        story.answer(story.ask("", instance_id="pod-1"), 1, member_id="p0", members={"p0": "pod-1"})
        for number in range(returns):
            story.answer(story.ask("", instance_id="pod-1"), 1, member_id=f"p{number + 1}")
        assert [each.id for each in findings_of(story)] == ids


@pytest.mark.parametrize("error", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"])
def test_a_coordinator_that_moved_or_was_loading(error: str) -> None:
    """What was refused meanwhile is counted."""
    story = GroupStory()
    story.form(1, "a")
    story.beat("a", 1, error=error)
    story.beat("a", 1, error=error, is_heartbeat=False)

    (finding,) = findings_of(story)

    assert finding.id == "KD3310"
    assert finding.evidence["errors"] == f"{error} 2"


@pytest.mark.parametrize("error", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"])
@pytest.mark.parametrize("is_mid_life", [True, False])
def test_a_group_that_begins_has_no_coordinator_yet(error: str, *, is_mid_life: bool) -> None:
    """It has lost none; a group that was there before the capture has."""
    story = GroupStory()
    if is_mid_life:
        story.beat("a", 1)
    story.answer(story.ask(""), -1, error=error)
    if not is_mid_life:
        story.form(1, "a")

    assert [each.id for each in findings_of(story)] == ["KD3310"] * is_mid_life


@pytest.mark.parametrize(("other", "ids"), [("KD1101", ["KD1101"]), ("KD4101", None)])
def test_one_outage_is_one_finding(other: str, ids: list[str] | None) -> None:
    """Where nothing listens at a broker, its groups have to move."""
    story = GroupStory()
    story.form(1, "a")
    story.beat("a", 1, error="NOT_COORDINATOR")
    outage = Finding(id=other, severity=Severity.ERROR, title="", evidence={}, fix="")

    found_ids = [each.id for each in joined([outage], findings_of(story))]
    assert found_ids == (ids or [other, "KD3310"])


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        ("INCONSISTENT_GROUP_PROTOCOL", "partition.assignment.strategy"),
        ("INVALID_SESSION_TIMEOUT", "group.min.session.timeout.ms"),
        ("GROUP_MAX_SIZE_REACHED", "group.max.size"),
    ],
)
def test_a_client_that_is_not_let_in(error: str, fix: str) -> None:
    """With what it asked for, however often; each error has its own fix."""
    story = GroupStory()
    story.form(1, "a")
    for _ in range(2):
        story.answer(story.ask("", session_timeout_ns=NS_PER_S), -1, error=error)

    (finding,) = findings_of(story)

    assert (finding.id, finding.evidence["count"]) == ("KD3312", 2)
    assert f"2 times: {error} for assignors range, session.timeout.ms 1 s" in finding.title
    assert fix in finding.fix


@for_each(("seconds", "ids"), [(40, ["KD3311"]), (5, [])])
@for_each("is_told", [True, False])
def test_a_member_that_does_not_take_up_an_epoch(
    seconds: float, ids: list[str], *, is_told: bool
) -> None:
    """It goes on with the old one; whether or not it comes round at last."""
    story = GroupStory()
    story.epoch("a", 0, 1, topics=frozenset({"clicks"}))
    story.epoch("b", 0, 2, topics=frozenset({"clicks"}))
    story.epoch("b", 2, 2)
    story.wait(seconds)
    story.epoch("a", 1, 2 if is_told else 1)

    findings = findings_of(story)

    assert [each.id for each in findings] == ids
    if findings:
        assert (findings[0].evidence["client"], findings[0].evidence["generation"]) == ("app-a", 2)
    (history,) = histories_of(story.events, "capture")
    history.members.clear()
    assert find(history) == [], "the tables of some hours are without those that came before"


@pytest.mark.parametrize(("away_s", "ids"), [(None, ["KD3314"]), (9, ["KD3305"]), (0.5, [])])
def test_a_member_of_a_consumer_group_that_failed(away_s: float | None, ids: list[str]) -> None:
    """It is silent for good, or stood still; one that is fenced at once did neither."""
    story = GroupStory()
    facts = {"interval_ns": 2 * NS_PER_S, "assigned": frozenset({("clicks", 0)})}
    story.epoch("a", 0, 1, topics=frozenset({"clicks"}), **facts)
    story.epoch("b", 0, 2, topics=frozenset({"clicks"}))
    story.wait(away_s or 9)
    story.epoch("b", 2, 3, **facts)
    if away_s is not None:
        story.epoch("a", 1, None, error="UNKNOWN_MEMBER_ID")

    assert [each.id for each in findings_of(story)] == ids


def test_the_worst_stands_first() -> None:
    """An error is above what is only to be known."""
    story = restarts("x", "y", "z")
    story.ask("keeper", instance_id="pod-1")
    for _ in range(2):
        story.beat("keeper", 7, error="FENCED_INSTANCE_ID")

    severities = [each.severity for each in findings_of(story)]

    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert {"error", "info"} <= set(severities)


@pytest.mark.parametrize(
    ("about", "error", "rule", "ids"),
    [
        ("group orders", "FENCED_INSTANCE_ID", "KD4501", ["KD3304"]),
        ("group orders", "FENCED_INSTANCE_ID", "KD4502", ["KD3304"]),
        ("group others", "FENCED_INSTANCE_ID", "KD4501", ["KD4501", "KD3304"]),
        ("group orders", "NOT_COORDINATOR", "KD4501", ["KD4501", "KD3304"]),
    ],
)
def test_one_cause_is_one_finding(about: str, error: str, rule: str, ids: list[str]) -> None:
    """What an error means stands in for how often it was answered, of the same group alone."""
    story = GroupStory()
    story.answer(story.ask("a", instance_id="pod-1"), 1, members={"a": "pod-1"})
    story.beat("a", 1, error="FENCED_INSTANCE_ID")
    story.beat("a", 1, error="FENCED_INSTANCE_ID")
    words = dict.fromkeys(("who", "what", "asked", "apis", "when", "because", "advice"), "-")
    refusal = found(rule, about=about, error=error, count=2, **words)

    assert [each.id for each in joined([refusal], findings_of(story))] == ids
