from kdiag_cli.commands.latency.text import medians, print_results
from made_values.latency_run_maker import made_results
from programs.kdiag_program import Printed


def printed(width: int | None = None, *, nodes: int = 1, has_headers: bool = True) -> list[str]:
    """Return the lines that are printed."""
    output = Printed(width)
    print_results(output, made_results(nodes=nodes), has_headers=has_headers)
    return output.lines


def test_a_line_has_percentiles_bounds_and_the_parts_of_the_median() -> None:
    """What is not known is a dash."""
    header, first, _, commit = printed()[:4]
    cells = dict(zip(header.split("\t"), first.split("\t"), strict=True))
    assert (cells["WHAT"], cells["COUNT"], cells["MIN"]) == ("produce acks=1", "400", "1.0")
    assert (cells["NETWORK"], cells["CLIENT"], cells["P99.9"]) == ("0.5", "0.1", "-")
    low, high = cells["P50-RANGE"].split("-")
    assert float(low) < float(cells["P50"]) < float(high)
    assert commit.split("\t") == ["commit", "0", *["-"] * 11, "1"]


def test_fetches_are_explained() -> None:
    """Below the table of their settings."""
    lines = printed()
    assert lines[4] == ""
    assert lines[5].startswith("MIN-BYTES\tMAX-WAIT\t")
    assert lines[6] == "1\t500\t25\t500.4\t96\t96\t120"
    assert lines[7].startswith("fetch.min.bytes=1 fetch.max.wait.ms=500: 96 % of fetches returned")


def test_brokers_are_compared_where_there_are_several() -> None:
    """A line for each kind and broker."""
    lines = printed(nodes=2)
    at = lines.index("NODE-ID\tWHAT\tCOUNT\tMEAN\tNETWORK\tBROKER\tCLIENT")
    assert [line.split("\t")[:3] for line in lines[at + 1 : at + 3]] == [
        ["1", "produce acks=1", "200"],
        ["2", "produce acks=1", "200"],
    ]


def test_a_terminal_shows_bars() -> None:
    """A pipe does not; and headers can be left out."""
    assert any("█" in line for line in printed(120))
    assert not any("█" in line for line in printed())
    assert not any(line.startswith("WHAT") for line in printed(has_headers=False))


def test_bars_are_the_medians() -> None:
    """With their bounds."""
    chart = medians(made_results())
    assert [bar.label for bar in chart.bars] == ["produce acks=1", "produce acks=all"]
    assert all((bar.low or 0) < bar.value < (bar.high or 0) for bar in chart.bars)
