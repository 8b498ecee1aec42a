"""One command, run on one damaged capture, and the rules that hold whatever it is of.

The rules: an exit code that its help names, no traceback and no fault of kdiag's own, no control
character on stdout or stderr, JSON that can be parsed, rows with a cell for each column. What is
decoded does not depend on the size of the blocks.
"""

import csv
import io
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.pcap.reader import CaptureReader
from kdiag.report.sql_report import report_names
from made_values import packet_damage
from programs.kdiag_program import Done, kdiag

MAX_RUN_S: Final = 10.0
SMALL_BLOCK_BYTES: Final = 4 << 10

DONE, FINDINGS, USAGE, PARTIAL = 0, 1, 2, 8
_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
_FORMULA: Final = re.compile(r"[=@\t\r]|[+-](?![0-9.]+(?:[eE][+-]?[0-9]+)?$)")
_OWN_FAULT: Final = re.compile(r"Traceback|internal error")
_WORD: Final = re.compile(rb"[a-z][a-z0-9._-]{5,}")
_HOSTILE: Final = (
    b"\x1b[2J",
    b"\x1b]0;\x07",
    b"\xc2\x9b1m",
    "\u202eab".encode(),
    "\u2028a".encode(),
    b"=1+1",
    b"<b>",
    b"\x7f\x00",
    b"\xff\xfe",
)
_BROKER_ID: Final = re.compile(r',"broker_id":[0-9]+')
"""The node id of a broker is printed as soon as it is known: a small block knows less."""

_RECORD_BYTES: Final = 16
_HEADER_BYTES: Final = 24


class CapturedCommand(NamedTuple):
    """A command to run.

    Attributes:
        words: its arguments; `FILE` stands for the capture, `PAGE` for a file to write.
        form: `json`, `jsonl`, `csv`, `safe` (CSV without formulas) or `text`.
        codes: the exit codes that it may end with.
        is_comparable: whether its output is the same in blocks of any size, but for its order.
    """

    words: tuple[str, ...]
    form: str = "text"
    codes: tuple[int, ...] = (DONE, PARTIAL)
    is_comparable: bool = False


def commands(chance: random.Random) -> Sequence[CapturedCommand]:
    """Return the commands that a capture may be read by, the cheap ones more often."""
    number, report = str(chance.randrange(1, 30)), chance.choice(report_names())
    one, judged = (DONE, USAGE, PARTIAL), (DONE, FINDINGS, PARTIAL)
    sql = "SELECT client_id, api, error, request_body FROM exchanges"
    cheap = [
        CapturedCommand(("decode", "FILE")),
        CapturedCommand(("decode", "FILE", "--all", "--tcp", "--wide")),
        CapturedCommand(("decode", "FILE", "-o", "jsonl"), "jsonl", is_comparable=True),
        CapturedCommand(("decode", "FILE", "-o", "jsonl", "--values"), "jsonl", is_comparable=True),
        CapturedCommand(("decode", "FILE", "-o", "json", "--raw"), "json"),
        CapturedCommand(("decode", "FILE", "-o", "csv"), "csv", is_comparable=True),
        CapturedCommand(("decode", "FILE", "-o", "csv", "--csv-safe"), "safe"),
        CapturedCommand(("decode", "FILE", "--summary")),
        CapturedCommand(
            ("decode", "FILE", "--summary", "--fail-on", "info"), codes=(0, FINDINGS, 8)
        ),
        CapturedCommand(("decode", "FILE", "--summary", "--tcp", "-o", "json"), "json"),
        CapturedCommand(("decode", "FILE", "--show", number, "--values"), codes=one),
        CapturedCommand(("decode", "FILE", "--show", number, "-o", "json"), "json", one),
        CapturedCommand(("decode", "FILE", "--explain", number), codes=one),
        CapturedCommand(("decode", "FILE", "--explain", number, "-o", "json"), "json", one),
        CapturedCommand(("decode", "FILE", "--errors", "-o", "jsonl"), "jsonl"),
        CapturedCommand(("tune-buffers", "FILE", "-o", "json"), "json", judged),
        CapturedCommand(
            ("rebalance", "explain", "FILE", "-o", "json"), "json", (0, FINDINGS, USAGE, 8)
        ),
    ]
    costly = [
        CapturedCommand(("report", report, "FILE", "-o", "csv"), "csv", one),
        CapturedCommand(("report", report, "FILE", "-o", "csv", "--csv-safe"), "safe", one),
        CapturedCommand(("report", report, "FILE", "-o", "json"), "json", one),
        CapturedCommand(("report", report, "FILE"), codes=one),
        CapturedCommand(("query", "FILE", sql, "-o", "jsonl", "--timeout", "60s"), "jsonl"),
        CapturedCommand(("query", "FILE", sql, "-o", "csv", "--csv-safe"), "safe"),
        CapturedCommand(("diff", "FILE", "FILE", "-o", "json"), "json"),
    ]
    page = CapturedCommand(("report", "--html", "PAGE", "FILE"))
    return [*cheap * 3, *costly, *([page] if not chance.randrange(8) else [])]


def hostile(data: bytes, chance: random.Random) -> bytes:
    """Return a capture with some names in its packets overwritten, byte for byte."""
    words = list(_WORD.finditer(data, _HEADER_BYTES + _RECORD_BYTES))
    changed = bytearray(data)
    for match in chance.sample(words, min(len(words), chance.choice((0, 1, 3, 20)))):
        text = chance.choice(_HOSTILE)[: match.end() - match.start()]
        at = chance.randrange(match.start(), match.end() - len(text) + 1)
        changed[at : at + len(text)] = text
    return bytes(changed)


def broken_rule(command: CapturedCommand, done: Done, took_s: float) -> str:
    """Return which rule a run has broken; empty if none."""
    if took_s > MAX_RUN_S:
        return f"took {took_s:.1f} s"
    if done.code not in command.codes:
        return f"ended with {done.code}: {done.err[-300:]}"
    if done.code == USAGE and not (done.err and not done.out):
        return "does not say why, or printed something nevertheless"
    if _OWN_FAULT.search(done.err) or _OWN_FAULT.search(done.out):
        return f"is at fault itself: {done.err[-500:]}"
    found = _CONTROL.search(done.out) or _CONTROL.search(done.err)
    if found:
        return f"printed {found[0]!r}"
    return broken_form(command.form, done.out)


def broken_form(form: str, out: str) -> str:
    """Return why an output is not in its form; empty if it is."""
    if not out or form == "text":
        return ""
    if form in {"json", "jsonl"}:
        lines = out.splitlines() if form == "jsonl" else [out]
        try:
            documents = [json.loads(line) for line in lines]
        except ValueError as error:
            return f"is not JSON: {error}"
        return "" if all(isinstance(each, dict) for each in documents) else "is not an object"
    rows = list(csv.reader(io.StringIO(out)))
    if len(rows) != len(out.splitlines()) or len(set(map(len, rows))) > 1:
        return "has a row of another length"
    cells = (cell for row in rows for cell in row)
    return next((f"has {each!r}" for each in cells if form == "safe" and _FORMULA.match(each)), "")


@contextmanager
def blocks_of(size: int) -> Iterator[None]:
    """Have captures read in blocks of some bytes."""
    defaults = CaptureReader.__init__.__kwdefaults__
    assert defaults is not None
    before = defaults["block_bytes"]
    defaults["block_bytes"] = size
    try:
        yield
    finally:
        defaults["block_bytes"] = before


class CommandRound(NamedTuple):
    """An input, and what a command made of it.

    Attributes:
        command: that was run.
        data: the capture.
        name: of the capture that it is made of.
        code: the exit code.
        broken: which rule it broke; empty if none.
        took_s: CPU time.
    """

    command: CapturedCommand
    data: bytes
    name: str
    code: int
    broken: str
    took_s: float


def run_round(number: int, seed: object, folder: Path) -> CommandRound:
    """Run one command on one damaged capture."""
    chance = random.Random(f"{seed}-{number}")
    piece = packet_damage.damaged_piece(chance)
    data = hostile(piece.data, chance)
    file = folder / "input.pcap"
    file.write_bytes(data)
    command = chance.choice(commands(chance))
    places = {"FILE": file, "PAGE": folder / "page.html"}
    words = [places.get(each, each) for each in command.words]
    started_s = time.process_time()
    done = kdiag(*words)
    took_s = time.process_time() - started_s
    broken = broken_rule(command, done, took_s)
    if command.is_comparable and not broken:
        with blocks_of(SMALL_BLOCK_BYTES):
            again = kdiag(*words)
        one, other = (Counter(_BROKER_ID.sub("", each.out).splitlines()) for each in (done, again))
        if one != other or done.code != again.code:
            broken = f"differs in small blocks: {[*(one - other), *(other - one)][:2]}"
    return CommandRound(command, data, piece.name, done.code, broken, took_s)
