from xml.etree import ElementTree as ET

from kdiag.errors import RequestTimeoutError
from kdiag.lab.scenario.judgement import LookVerdict
from kdiag.lab.scenario.scenario_run import ScenarioOutcome
from kdiag.lab.scenario.shipped import find_scenario
from kdiag_cli.commands.lab.scenario.text import document, junit_xml

SCENARIO = find_scenario("advertised-listener")
WANTED = SCENARIO.find[0]


def test_junit_tells_failures_from_errors_and_holds_no_control_bytes() -> None:
    """Each run is a case; XML has no place for escapes."""
    right = LookVerdict(WANTED, is_right=True, evidence=("seen \x1b[31m",))
    wrong = LookVerdict(WANTED, is_right=False, evidence=("seen",))
    with_it = ScenarioOutcome(SCENARIO, is_disturbed=True, took_ns=10**9)
    outcomes = [
        with_it._replace(verdicts=(right,)),
        with_it._replace(is_disturbed=False, verdicts=(wrong,)),
        with_it._replace(
            trouble=RequestTimeoutError("waited in vain"), failures=("one \x00: gone",)
        ),
    ]
    suite = ET.fromstring(junit_xml(outcomes))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [case[0].tag for case in suite] == ["system-out", "failure", "error"]
    assert [case.get("classname") for case in suite][1] == "without disturbance"
    told = document(outcomes[2])
    assert (told["passes"], told["trouble"], told["took_ms"]) == (False, "waited in vain", 1000)
