import json
import re
from typing import Any

import msgspec

from kdiag.report.difference.comparison import CaptureComparison, compare
from kdiag.report.difference.measured import MeasuredCapture
from kdiag_cli.commands.help.topics import topic_text
from kdiag_cli.commands.report.diff.document import comparison_document, diff_schema
from programs.kdiag_program import kdiag

SPAN = {
    "exchanges": 2,
    "first_ns": 1_767_323_045_000_000_006,
    "last_ns": 1_767_323_046_000_000_006,
    "connections": 1,
    "errors": 0,
}
SIDE = MeasuredCapture(SPAN, {}, {}, {}, {}, {}, {}, {}, {}, {}, frozenset())


def test_a_document_has_both_sides_and_the_test() -> None:
    """Times are RFC 3339; a capture without exchanges has none."""
    empty = SIDE._replace(span=SPAN | {"exchanges": 0, "first_ns": None, "last_ns": None})
    comparison: CaptureComparison = compare(SIDE, empty)
    document = comparison_document(("a.pcap", "b.pcap"), (SIDE, empty), comparison)
    written = msgspec.json.decode(msgspec.json.encode(document))

    assert written["before"] == {
        "source": "a.pcap",
        "first_time": "2026-01-02T03:04:05.000000006Z",
        "last_time": "2026-01-02T03:04:06.000000006Z",
        "duration_ms": 1000,
        "exchanges": 2,
        "connections": 1,
        "clients": 0,
        "errors": 0,
        "latencies": [],
    }
    assert written["after"]["first_time"] is None
    assert written["differs"] is False
    assert set(written) == {
        *("before", "after", "differs", "test", "measured", "errors", "stated"),
    }


def test_the_schema_is_printed_and_is_what_the_help_lists() -> None:
    """Of every part: no key more, and none less; all of them are always there."""
    schema = diff_schema()
    shapes: dict[str, Any] = schema["$defs"]
    keys = {
        name: set(shape["properties"]) for name, shape in shapes.items() if "properties" in shape
    }
    section = (topic_text("output") or "").partition("## kdiag diff")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", section, re.MULTILINE)
    listed = {head: set(re.findall(r"`([a-z0-9_]+)`", text)) for head, text in rows}

    assert json.loads(kdiag("diff", "--schema").out) == schema
    for name, properties in keys.items():
        assert set(shapes[name]["required"]) == properties, name
    assert set(re.findall(r"`(\w+)`", " ".join(listed))) == keys["DiffDocument"]
    assert listed["`before`, `after`"] == keys["ComparedCapture"] | keys["ApiLatency"]
    assert listed["`test`"] == keys["NoiseTest"]
    assert listed["`measured`"] >= keys["MeasuredChange"]
    assert listed["`errors`"] == keys["ErrorChange"]
    assert listed["`stated`"] >= keys["StatedChange"]
