import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kdiag.clock import ManualClock
from kdiag.lab.fault.control.control_port import ControlPort
from kdiag.lab.fault.fault_book import FaultBook
from kdiag_cli.commands.lab.faults import command
from kdiag_cli.commands.lab.faults.control_token import publish_token, token_file
from programs.kdiag_program import kdiag


@pytest.fixture
def control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the address of a control port, whose token is where a lab leaves it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with ControlPort(FaultBook(ManualClock())) as port, ExitStack() as closing:
        publish_token(closing, port.token, port.port, None)
        yield port.address


@pytest.mark.thorough
def test_faults_are_added_listed_and_removed(control: str) -> None:
    """In the lab that has the control port."""
    place = ("--control", control)
    added = kdiag("lab", "fault", "add", "Fetch delay=1s", "Produce close=after", *place)
    assert (added.code, added.out) == (0, "1\tFetch delay=1s\n2\tProduce close=after\n")
    listed = kdiag("lab", "fault", *place)
    assert listed.out.splitlines()[1] == "1\tFetch delay=1s\t0\t0\t0\t0"
    removed = kdiag("lab", "fault", "remove", "1", *place)
    assert "Fetch delay=1s removed: seen 0, fired 0" in removed.err
    document = json.loads(kdiag("lab", "fault", "list", "-o", "json", *place).out)
    assert [each["id"] for each in document["data"]] == [2]
    assert kdiag("lab", "fault", "remove", "--all", *place).code == 0
    assert kdiag("lab", "fault", "--no-headers", *place).out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("add", "Fetch dely=1s"), 2, "column 7"),
        (("remove",), 2, "--all"),
        (("remove", "7"), 2, "no fault 7"),
        (("list", "--control", "nowhere"), 2, "HOST:PORT"),
        (("list", "--control", "127.0.0.1:1"), 3, "no control port answers"),
    ],
)
def test_what_is_wrong_is_said(
    control: str, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, why: str
) -> None:
    """In a line, without a traceback; the address may be a variable."""
    monkeypatch.setenv("KDIAG_LAB_CONTROL", control)
    done = kdiag("lab", "fault", *arguments)
    assert done.code == code
    assert why in done.err


def test_who_lacks_the_token_reads_where_it_is(
    control: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is not there, one of an earlier lab, and the right one at another place."""
    token = token_file(int(control.rpartition(":")[2]))
    wrong, right = tmp_path / "wrong", tmp_path / "right"
    wrong.write_text("x")
    right.write_text(token.read_text())
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    command = ("lab", "fault", "list", "--control", control)
    for more, words in (
        ((), "does not exist, or you cannot read it"),
        (("--control-token", wrong), f"{wrong} has another token"),
    ):
        done = kdiag(*command, *more)
        assert (done.code, done.out) == (2, "")
        assert words in done.err
        assert "as the user who started the lab" in done.err
    assert kdiag(*command, "--control-token", right).code == 0


def test_the_address_must_be_known() -> None:
    """By the option or the variable."""
    done = kdiag("lab", "fault", "list")
    assert (done.code, "KDIAG_LAB_CONTROL" in done.err) == (2, True)


def test_the_schema_is_json() -> None:
    """With every key."""
    document = json.loads(kdiag("lab", "fault", "schema").out)
    assert document["properties"]["faults"]["type"] == "array"


def test_the_examples_are_faults() -> None:
    """All that stand in quotes."""
    texts = re.findall(r"'([^']+)'", command.ADD_EXAMPLES)
    assert len(texts) == 3
