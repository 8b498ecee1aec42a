"""A tier is what a test costs: what has no marker and is dear fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from folders import ROOT
from tiers.tier import TEST_BUDGET_S, too_dear

pytestmark = pytest.mark.thorough

CONFTEST = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tests" / "rig")!r})
from tiers import tier
from tiers.second_try import SecondTry
from tiers.tier import MARKED, Tiers
tier.NOISE = 2

def pytest_addoption(parser):
    parser.addoption("--second-try", type=Path)

def pytest_configure(config):
    for name in ("quick", *MARKED):
        config.addinivalue_line("markers", name)
    config.pluginmanager.register(Tiers(config.getoption("markexpr")))
    notes = config.getoption("--second-try")
    if notes and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SecondTry(notes))
"""
FAILS_ONCE = """
from pathlib import Path
def test_it():
    remembered = Path(__file__).with_name("remembered")
    was_here = remembered.exists()
    remembered.touch()
    assert was_here
"""


def run(folder: Path, tests: str, *options: str) -> tuple[int, str]:
    """Return the exit code and the output of a run of these tests by these plugins."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_here.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", *options, "."]
    few = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=few, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_what_has_no_marker_starts_no_process(tmp_path: Path) -> None:
    """With one it may; what fixtures take that others share is not counted."""
    started = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])\n"
    body = started.replace("\n", "; ")
    tests = f"import pytest\ndef test_it(): {body}\n"
    code, output = run(tmp_path, tests)
    assert code == 1
    assert "a test without a marker starts no process" in output
    assert "subprocess.Popen" in output
    assert run(tmp_path, tests.replace("def", "@pytest.mark.thorough\ndef"))[0] == 0


def test_what_has_no_marker_takes_little_cpu_time(tmp_path: Path) -> None:
    """So much with room for noise; waiting costs nothing."""
    busy = "import time\ndef test_it():\n    until = time.process_time() + {s}\n"
    busy += "    while time.process_time() < until: pass\n"
    code, output = run(tmp_path, busy.format(s=TEST_BUDGET_S * 2 + 0.1))
    assert code == 1
    assert "of CPU time, where a test without a marker has 0.3 s" in output
    assert run(tmp_path, busy.format(s=TEST_BUDGET_S))[0] == 0
    assert not too_dear(TEST_BUDGET_S, [])


def test_a_tier_is_chosen_by_its_name(tmp_path: Path) -> None:
    """A file of one tier may have a test of another as well."""
    tests = """
import pytest
pytestmark = pytest.mark.soak
def test_soak(): pass
@pytest.mark.real
def test_real(): pass
"""
    assert "2 passed" in run(tmp_path, tests, "-m", "soak")[1]
    assert "1 passed, 1 deselected" in run(tmp_path, tests, "-m", "real")[1]
    assert "2 deselected" in run(tmp_path, tests, "-m", "quick")[1]
    output = run(tmp_path, "def test_it(): pass", "-m", "quick")[1]
    assert "1 passed" in output
    assert "(the tier's budget: " in output


def test_what_fails_once_is_named_and_decides_nothing(tmp_path: Path) -> None:
    """It runs again alone; the file keeps its name, and the run is green."""
    notes = tmp_path / "notes"
    code, output = run(tmp_path, FAILS_ONCE, "-n", "2", "--second-try", str(notes))
    assert code == 0
    named = "passed on the second try: test_here.py::test_it"
    assert named in output
    assert notes.read_text() == f"{named}\n"


def test_what_fails_twice_fails(tmp_path: Path) -> None:
    """Beside one that passes then, too, which is named all the same."""
    tests = FAILS_ONCE + "def test_wrong(): assert False\n"
    notes = tmp_path / "notes"
    code, output = run(tmp_path, tests, "--second-try", str(notes))
    assert code == 1
    assert notes.read_text() == "passed on the second try: test_here.py::test_it\n"
    assert "test_wrong - assert False" in output


def test_many_failures_are_a_fault(tmp_path: Path) -> None:
    """They are not tried again, and neither is what could not be collected."""
    wrong = "".join(f"def test_{number}(): assert False\n" for number in range(6))
    for tests, expected in ((wrong, 1), ("import nothing_of_that_name", 2)):
        code, output = run(tmp_path, tests, "--second-try", str(tmp_path / "notes"))
        assert code == expected
        assert "second try" not in output
