import json
from pathlib import Path

import pytest

from kdiag.lab.scenario.shipped import shipped_file, shipped_scenarios
from programs.kdiag_program import kdiag

pytestmark = pytest.mark.thorough


def test_the_scenarios_that_come_with_kdiag_are_listed_and_shown() -> None:
    """With what each teaches and finds; what is shown can be run."""
    document = json.loads(kdiag("lab", "scenarios", "-o", "json").out)
    assert [each["name"] for each in document["data"]] == [
        each.name for each in shipped_scenarios()
    ]
    assert all(each["teaches"] and each["finds"] for each in document["data"])
    shown = kdiag("lab", "scenarios", "show", "member-dies").out
    assert shown == shipped_file("member-dies").read_text(encoding="utf-8")
    schema = json.loads(kdiag("lab", "scenarios", "schema").out)
    assert schema["$defs"]["Scenario"]["required"] == ["name", "teaches", "find"]


def test_what_cannot_be_is_said_in_a_line(tmp_path: Path) -> None:
    """With exit code 2."""
    path = tmp_path / "bad.yaml"
    path.write_text("name: x\nteaches: y\nfind:\n  - by: chek\n", encoding="utf-8")
    wrongs = {
        (str(path),): f"{path}:4: find[0].by",
        ("no-such",): "kdiag lab scenarios",
        (): "--all",
        ("member-dies", "--all"): "--all",
        ("member-dies", "--both", "--without-disturbance"): "choose one",
        ("member-dies", "--both", "--pcap", str(tmp_path / "x")): "one scenario at a time",
        ("member-dies", "--junit", "/no/such/folder/x"): "there is no folder",
    }
    for arguments, why in wrongs.items():
        done = kdiag("lab", "run", *arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert why in done.err, (arguments, done.err)
