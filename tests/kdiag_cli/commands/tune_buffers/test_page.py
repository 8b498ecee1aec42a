from pathlib import Path

import pytest

from kdiag.diagnosis.buffers.facts import BrokerPath, LoadDirection
from kdiag.diagnosis.buffers.findings import Measured
from kdiag.diagnosis.buffers.report import report
from kdiag_cli.commands.tune_buffers.page import write_buffer_page
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, make_path, make_run


@pytest.mark.thorough
def test_a_page_has_all_that_a_terminal_shows(tmp_path: Path) -> None:
    """Pictures of the proof, tables, sentences, findings and lines to paste."""
    runs = [make_run(LoadDirection.PRODUCE, size, 5.7) for size in (64 * KIB, KERNEL)]
    file = tmp_path / "page.html"
    write_buffer_page(file, [report(Measured(make_path(), runs, LIMITS, GBIT))])
    page = file.read_text(encoding="utf-8")

    assert page.count("<svg") == 1
    for text in (
        "<h2>Paths</h2>",
        "<h2>broker 1: produce</h2>",
        "<h2>Runs, broker 1</h2>",
        "<h2>Ceilings of clients with their defaults, broker 1</h2>",
        "send.buffer.bytes=-1",
        "KD6010",
        "Java with its defaults produces at most",
    ):
        assert text in page


def test_a_page_without_a_proof_has_no_pictures(tmp_path: Path) -> None:
    """What is not known is left out."""
    file = tmp_path / "page.html"
    write_buffer_page(file, [report(Measured(BrokerPath(1, "far:9092"), (), LIMITS, GBIT))])
    page = file.read_text(encoding="utf-8")

    assert "<svg" not in page
    assert page.count("<h2>") == 1
