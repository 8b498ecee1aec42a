import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from programs.kdiag_program import kdiag

NOT_FOUND = """\
name: not-found
teaches: What does not happen is not found.
find: [{by: check, finding: KD1501}]
"""


@pytest.mark.thorough
def test_runs_are_told_to_people_programs_and_ci(tmp_path: Path) -> None:
    """The exit code is 1 if one does not pass."""
    path, junit = tmp_path / "not-found.yaml", tmp_path / "out.xml"
    path.write_text(NOT_FOUND, encoding="utf-8")
    done = kdiag("lab", "run", str(path), "advertised-listener", "--junit", str(junit))
    assert done.code == 1
    assert [line.split("\t")[:2] for line in done.out.splitlines()[1:3]] == [
        ["fails", "not-found"],
        ["passes", "advertised-listener"],
    ]
    assert "not found: check: KD1501; there was:\n  nothing" in done.out
    suite = ET.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    done = kdiag("lab", "run", "advertised-listener", "--both", "-o", "json")
    (disturbed, quiet) = json.loads(done.out)["data"]
    assert (done.code, disturbed["passes"], quiet["passes"]) == (0, True, True)
    assert disturbed["find"][0]["evidence"][0].startswith("KD1501: ")


@pytest.mark.thorough
def test_one_that_comes_to_no_end_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    """And says what was waited for."""
    path = tmp_path / "endless.yaml"
    path.write_text(f"{NOT_FOUND}until: {{fired: 1}}\ndeadline_s: 1\n", encoding="utf-8")
    done = kdiag("lab", "run", str(path))
    assert done.code == 6
    assert "waited in vain for faults to happen 1 times" in done.out
