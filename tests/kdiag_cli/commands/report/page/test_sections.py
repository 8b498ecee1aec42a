import pytest

from folders import CAPTURES
from kdiag.report.engine import open_tables
from kdiag.report.overview.overview import Overview, read_overview
from kdiag_cli.commands.report.page.kept_exchanges import KeptExchanges
from kdiag_cli.commands.report.page.sections import sections_of
from kdiag_cli.output.pages.parts import (
    Detail,
    PageLink,
    PageSection,
    Plot,
    Quantity,
    SortableTable,
)
from recordings.capture_tables import tables_of

pytestmark = pytest.mark.thorough


def overview_of(*names: str) -> Overview:
    """Return the overview of captures."""
    with open_tables(tables_of([CAPTURES / name for name in names])) as database:
        return read_overview(database)


def sections(overview: Overview) -> dict[str, PageSection]:
    """Return the sections by their places."""
    kept = KeptExchanges(overview.kept)
    return {each.anchor: each for each in sections_of(overview, kept, ["limits"], "x.pcap")}


def plot_of(section: PageSection) -> Plot:
    """Return the first plot of a section."""
    return next(each for each in section.parts if isinstance(each, Plot))


def test_each_section_has_what_it_is_named_for() -> None:
    """Plots have columns of equal length, and values that a browser can draw."""
    made = sections(overview_of("rebalance.pcap", "produce_consume_group.pcap"))

    plots = [each for one in made.values() for each in one.parts if isinstance(each, Plot)]
    assert len(plots) == 7
    for plot in plots:
        lengths = {len(column) for column in plot.columns.values()}
        assert len(lengths) == 1
        assert lengths.pop() > 0
    assert "limits" in made["tcp"].parts
    assert not made["more"].parts
    assert any(isinstance(each, Detail) for each in made["exchanges"].parts)


def test_rates_are_those_of_the_batches() -> None:
    """Rate times time, summed over the bins, is the size of what was written."""
    overview = overview_of("produce_consume_group.pcap")
    columns = plot_of(sections(overview)["throughput"]).columns
    written = sum(
        rate * overview.bins.width_s
        for rate, flow, dimension in zip(
            columns["bytes_per_s"], columns["flow"], columns["dimension"], strict=True
        )
        if (flow, dimension) == ("produce", "topic")
    )

    rows = overview.reports["throughput"].rows
    expected = sum(row["bytes"] for row in rows if row["flow"] == "produce")
    assert abs(written - expected) < expected / 100


def test_a_report_is_a_table_with_units_and_links() -> None:
    """Whoever breaks on Kafka 4 leads to an exchange in that version."""
    made = sections(overview_of("old_versions.pcap"))["clients"]
    tables = [each for each in made.parts if isinstance(each, SortableTable)]
    compat = next(each for each in tables if each.more == "kdiag report compat x.pcap")
    latency = next(
        each
        for each in sections(overview_of("old_versions.pcap"))["latency"].parts
        if isinstance(each, SortableTable) and each.more
    )

    first = compat.rows[0][0]
    assert isinstance(first, PageLink)
    assert first.text == "breaks"
    assert first.anchor
    p50 = latency.rows[0][latency.headers.index("p50")]
    assert isinstance(p50, Quantity)
    assert p50.text.endswith(("µs", "ms"))


def test_a_capture_without_errors_and_groups_has_no_such_plots() -> None:
    """A section without parts is left out of the page."""
    made = sections(overview_of("acks.pcap"))

    assert not any(isinstance(each, Plot) for each in made["rebalances"].parts)
