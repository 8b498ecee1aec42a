from kdiag.clock import ALWAYS, TimeRange
from kdiag.report.layout import by_keys, files_during
from tiers.cases import for_each

DAY_NS = 86_400_000_000_000
HOUR_NS = DAY_NS // 24
DAY, HOUR = "exchanges/date=1970-01-02/a.parquet", "exchanges/date=1970-01-02/hour=3/a.parquet"
OLD = "exchanges/date=1970-01-02/broker=b%3A1/a.parquet"


def test_files_are_told_apart_by_how_they_lie() -> None:
    """An engine reads the keys of one kind of path alone."""
    assert by_keys([DAY, OLD, HOUR, DAY.replace("a.", "b."), "exchanges/a.parquet"]) == {
        ("date",): [DAY, DAY.replace("a.", "b.")],
        ("date", "broker"): [OLD],
        ("date", "hour"): [HOUR],
        (): ["exchanges/a.parquet"],
    }


@for_each(
    ("times", "found"),
    [
        (ALWAYS, [DAY, HOUR, OLD]),
        (TimeRange(from_ns=2 * DAY_NS), []),
        (TimeRange(from_ns=2 * DAY_NS - 1), [DAY, OLD]),
        (TimeRange(to_ns=DAY_NS), []),
        (TimeRange(to_ns=DAY_NS + 1), [DAY, OLD]),
        (TimeRange(DAY_NS + 3 * HOUR_NS, DAY_NS + 3 * HOUR_NS + 1), [DAY, HOUR, OLD]),
        (TimeRange(from_ns=DAY_NS + 4 * HOUR_NS), [DAY, OLD]),
    ],
)
def test_files_of_other_days_and_hours_are_not_read(times: TimeRange, found: list[str]) -> None:
    """A bound that falls into a day needs that day."""
    assert files_during([DAY, HOUR, OLD], times) == found


def test_a_file_without_a_date_may_hold_any_rows() -> None:
    """As one whose date is none."""
    files = ["exchanges.parquet", "exchanges/date=__HIVE_DEFAULT_PARTITION__/a.parquet"]

    assert files_during(files, TimeRange(1, 2)) == files
