from pathlib import Path

import pytest

from kdiag_cli.commands.latency.page import write_latency_page
from made_values.latency_run_maker import made_results


@pytest.mark.thorough
def test_a_page_has_curves_bars_tables_and_what_they_mean(tmp_path: Path) -> None:
    """In one file that needs no other."""
    file = tmp_path / "latency.html"
    results = made_results(nodes=2)
    results.warn("something is <odd>")
    write_latency_page(file, results)
    text = file.read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    for words in (
        "Request latency by percentile",
        "produce acks=all",
        "Brokers",
        "the topic is idle",
    ):
        assert words in text
    assert "something is &lt;odd&gt;" in text
    assert "<script" not in text


def test_a_page_of_nothing_is_a_page(tmp_path: Path) -> None:
    """Too few latencies for any curve."""
    file = tmp_path / "latency.html"
    write_latency_page(file, made_results(count=2))
    assert "latency by percentile" not in file.read_text(encoding="utf-8")
