from pathlib import Path

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


def test_a_scenario_passes_both_ways(tmp_path: Path) -> None:
    """With its disturbance as kdiag finds it, without as it does not; its traffic is kept."""
    scenario = find_scenario("advertised-listener")
    path = tmp_path / "kept.pcapng"
    outcome = run_scenario(scenario, capture=path)
    assert (outcome.passes, outcome.trouble, outcome.failures) == (True, None, ())
    assert outcome.verdicts[0].evidence[0].startswith("KD1501: broker 1 advertises")
    assert sum(len(each) for each in CaptureReader([path]).read_segments()) > 0
    assert run_scenario(scenario, is_disturbed=False).passes


def test_it_ends_by_its_deadline_and_says_what_did_not_happen() -> None:
    """And what became of its clients."""
    outcome = run_scenario(parse_scenario(IN_VAIN, "in-vain"))
    assert (outcome.passes, outcome.verdicts) == (False, ())
    assert "group billing to be Stable" in str(outcome.trouble)
    assert outcome.failures == ("lost: 7: the cluster has no broker 7; it has 1",)
