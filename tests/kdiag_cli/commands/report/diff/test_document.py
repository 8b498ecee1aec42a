import msgspec

from kdiag.report.difference.comparison import CaptureComparison, compare
from kdiag.report.difference.measured import MeasuredCapture
from kdiag_cli.commands.report.diff.document import comparison_document

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
