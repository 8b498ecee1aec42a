from typing import Any

from kdiag.diagnosis.difference.noise import NoiseVerdict
from kdiag.report.difference.comparison import (
    CaptureComparison,
    ComparedQuantity,
    ErrorChange,
    MeasuredChange,
    StatedChange,
)
from kdiag_cli.commands.report.diff.rows import change_rows, differing, verdict_text

SLOWER = MeasuredChange(
    quantity=ComparedQuantity.P50,
    of="Produce",
    before=1_000.0,
    after=6_000.0,
    ratio=6.0,
    superiority=1.0,
    p_value=1e-6,
    blocks=(20, 20),
    verdict=NoiseVerdict.MORE,
)
RATE = MeasuredChange(
    quantity=ComparedQuantity.RATE,
    of="produce orders",
    before=1_500_000.0,
    after=1_600_000.0,
    ratio=1.07,
    superiority=0.6,
    p_value=1.0,
    blocks=(20, 20),
    verdict=NoiseVerdict.NOISE,
)
FEW = MeasuredChange(
    quantity=ComparedQuantity.BATCH,
    of="writer orders",
    before=None,
    after=300.0,
    ratio=None,
    superiority=None,
    p_value=None,
    blocks=(0, 2),
    verdict=NoiseVerdict.TOO_FEW,
)
ALIKE = MeasuredChange(
    quantity=ComparedQuantity.P90,
    of="Fetch",
    before=1_000.0,
    after=1_001.0,
    ratio=1.0,
    superiority=0.5,
    p_value=1.0,
    blocks=(20, 20),
    verdict=NoiseVerdict.NOISE,
)
ERROR = ErrorChange(
    problem="NOT_COORDINATOR",
    api="JoinGroup",
    before=30,
    after=0,
    blocks=(18, 0),
    p_value=1e-8,
    verdict=NoiseVerdict.LESS,
    is_new=False,
)
STATED = [
    StatedChange(kind="client", of="new", name="", before=None, after="java 4.3"),
    StatedChange(kind="setting", of="writer", name="acks", before="1", after="-1"),
    StatedChange(kind="version", of="writer", name="Fetch", before="12", after="17"),
]


def comparison(**parts: Any) -> CaptureComparison:
    """Return a comparison of such parts."""
    made: dict[str, Any] = {"measured": [], "errors": [], "stated": []} | parts
    return CaptureComparison(**made, alpha=0.01, least_change=0.2)


def test_differences_come_first() -> None:
    """What is tested, what is stated, and then what is noise or too little."""
    rows = change_rows(
        comparison(measured=[RATE, SLOWER, FEW], errors=[ERROR], stated=[*STATED]), for_people=True
    )

    assert [row[:3] for row in rows] == [
        ("slower", "latency, p50", "Produce"),
        ("less", "error", "NOT_COORDINATOR JoinGroup"),
        ("new", "client", "new"),
        ("changed", "setting acks", "writer"),
        ("changed", "version of Fetch", "writer"),
        ("not proven", "throughput", "produce orders"),
        ("too few", "batch size", "writer orders"),
    ]
    assert rows[0][3:] == ("1.00 ms", "6.00 ms", 500, "1e-06", 100, "20/20")
    assert rows[5][3:5] == ("1.5 MB/s", "1.6 MB/s")
    assert rows[1][3:] == (30, 0, None, "1e-08", None, "18/0 of 20")


def test_errors_that_were_not_there_before_come_first_whatever_their_p_value() -> None:
    """An outage is in few blocks, so that no test proves it; what a capture lacks is no error."""
    new = [
        ErrorChange(
            problem=problem,
            api="Produce",
            before=0,
            after=after,
            blocks=(0, 2),
            p_value=1.0,
            verdict=NoiseVerdict.NOISE,
            is_new=is_new,
        )
        for problem, after, is_new in (
            ("REQUEST_TIMED_OUT", 9, True),
            ("unanswered", 299, True),
            ("partial", 4, False),
        )
    ]
    made = comparison(measured=[SLOWER], errors=new)
    rows = change_rows(made, for_people=True)

    assert [row[:5] for row in rows] == [
        ("new", "error", "unanswered Produce", 0, 299),
        ("new", "error", "REQUEST_TIMED_OUT Produce", 0, 9),
        ("slower", "latency, p50", "Produce", "1.00 ms", "6.00 ms"),
        ("not proven", "error", "partial Produce", 0, 4),
    ]
    assert next(differing(made)) == "error of unanswered Produce is new: 0 → 299"
    assert verdict_text(made).startswith(
        "2 new kinds of errors or missing answers, 1 difference beyond noise. "
    )
    assert comparison(errors=new).differs
    assert not comparison(errors=new[2:]).differs


def test_programs_get_numbers() -> None:
    """The unit is in the name of the quantity."""
    (row,) = change_rows(comparison(measured=[SLOWER]), for_people=False)

    assert row[1:5] == ("p50_us", "Produce", 1_000.0, 6_000.0)


def test_the_verdict_says_how_it_was_tested() -> None:
    """How many were compared, and that some could not be."""
    different = verdict_text(comparison(measured=[SLOWER, FEW], errors=[ERROR], stated=STATED[:1]))
    alike = verdict_text(comparison(measured=[RATE, ALIKE]))
    few = verdict_text(comparison(measured=[FEW]))

    assert different.startswith("3 differences beyond noise. 2 comparisons of blocks")
    assert different.endswith("; 1 with fewer than 8 blocks on a side are not tested")
    assert alike.startswith("no difference beyond noise. 2 comparisons of blocks")
    assert few.startswith("too little traffic to separate noise from differences")


def test_each_difference_is_a_sentence() -> None:
    """For the page."""
    made = comparison(measured=[RATE, SLOWER], stated=STATED[:2])

    assert list(differing(made)) == [
        "latency, p50 of Produce is slower: 1.00 ms → 6.00 ms (+500 %)",
        "client of new is new: - → java 4.3",
        "setting acks of writer is changed: 1 → -1",
    ]
