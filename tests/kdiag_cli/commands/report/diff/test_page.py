import re
from pathlib import Path

import pytest

from made_values.steady_load import USUAL, write_load
from programs.browser import used
from programs.kdiag_program import kdiag

HOSTILE = "<script>document.title='taken'</script>"


def write_page(folder: Path) -> Path:
    """Write the page of a load before and after a delay, with a client whose id is a script."""
    before = write_load(folder / "before.pcap", 1)
    after = USUAL._replace(delay_ms=5, clients=("writer", HOSTILE))
    file = folder / "page.html"
    done = kdiag("diff", before, write_load(folder / "after.pcap", 2, after), "--html", file)
    assert done.code == 0
    return file


@pytest.mark.thorough
@pytest.mark.usefixtures("cached")
def test_a_page_has_the_verdict_and_all_rows(tmp_path: Path) -> None:
    """Each difference is a sentence; names are escaped."""
    text = write_page(tmp_path).read_text()

    assert "differences beyond noise" in text
    assert re.search(r"latency, p50 of Produce is slower: [\d.]+ ms → [\d.]+ ms \(\+\d+ %\)", text)
    assert "<script>document" not in text
    assert "&lt;script&gt;document" in text
    assert '<section id="compared">' in text


@pytest.mark.soak
@pytest.mark.usefixtures("get_shown_page")  # which asks for the browser
def test_a_browser_draws_both_captures(tmp_path: Path) -> None:
    """Two curves, and nothing on the console."""
    done = used(
        write_page(tmp_path),
        'root.dataset.out = document.querySelectorAll(".plot .mark-line path").length;',
    )

    assert done.console == []
    assert 'data-out="2"' in done.dom
    assert "<title>Kafka traffic: before.pcap and after.pcap compared</title>" in done.dom
