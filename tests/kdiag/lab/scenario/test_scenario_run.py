from pathlib import Path

import pytest

from kdiag.errors import ConfigError
from kdiag.lab.scenario.scenario_file import parse_scenario
from kdiag.lab.scenario.scenario_run import run_scenario
from kdiag.lab.scenario.shipped import find_scenario
from kdiag.pcap.reader import CaptureReader

IN_VAIN = """\
name: in-vain
teaches: What never happens is waited for no longer than the deadline.
deadline_s: 1
clients:
  - {kind: requests, name: lost, api: Fetch, version: 12, to: "7"}
disturb:
  - after: {group: {name: billing}}
find: [{by: check, finding: KD2005}]
"""


@pytest.mark.thorough
def test_a_scenario_passes_both_ways(tmp_path: Path) -> None:
    """With its disturbance as kdiag finds it, without as it does not; its traffic is kept."""
    scenario = find_scenario("advertised-listener")
    path = tmp_path / "kept.pcapng"
    outcome = run_scenario(scenario, capture=path)
    assert (outcome.passes, outcome.trouble, outcome.failures) == (True, None, ())
    assert outcome.verdicts[0].evidence[0].startswith("KD1501: broker 1 advertises")
    assert sum(len(each) for each in CaptureReader([path]).read_segments()) > 0
    assert run_scenario(scenario, is_disturbed=False).passes


@pytest.mark.thorough
def test_it_ends_by_its_deadline_and_says_what_did_not_happen() -> None:
    """And what became of its clients."""
    outcome = run_scenario(parse_scenario(IN_VAIN, "in-vain"))
    assert (outcome.passes, outcome.verdicts) == (False, ())
    assert "group billing to be Stable" in str(outcome.trouble)
    assert outcome.failures == ("lost: 7: the cluster has no broker 7; it has 1",)


@pytest.mark.thorough
def test_settings_that_contradict_each_other_are_a_fault_of_the_scenario() -> None:
    """So is an assignor that kdiag does not have."""
    member = "{kind: member, name: one, group: billing, topics: [orders]"
    for wrong in ("settings: {heartbeat.interval.ms: 99000}", "assignors: [odd]"):
        text = f"name: x\nteaches: y\nclients: [{member}, {wrong}}}]\n"
        find = "find: [{by: check, finding: KD2005}]"
        with pytest.raises(ConfigError):
            run_scenario(parse_scenario(text + find, "wrong"))


@pytest.mark.thorough
def test_the_topics_that_are_to_have_records_have_as_many_and_the_others_none() -> None:
    """As commits behind their ends show."""
    text = """\
name: seeded
teaches: y
topics: [{name: orders, seeded: 7}, {name: payments}]
disturb:
  - join: {kind: requests, name: app, api: OffsetCommit, version: 8, to: "coordinator:billing",
           body: {groupId: billing, generationIdOrMemberEpoch: -1, memberId: "",
                  groupInstanceId: null, topics: [
                    {name: orders, partitions: [{partitionIndex: 0, committedOffset: 9,
                     committedLeaderEpoch: -1, committedMetadata: ""}]},
                    {name: payments, partitions: [{partitionIndex: 0, committedOffset: 9,
                     committedLeaderEpoch: -1, committedMetadata: ""}]}]}}
find:
  - {by: groups, finding: KD3403, evidence: {partition: "orders[0]", end: 7}}
  - {by: groups, finding: KD3403, evidence: {partition: "payments[0]", end: 0}}
"""
    outcome = run_scenario(parse_scenario(text, "seeded"))
    assert outcome.passes, outcome
