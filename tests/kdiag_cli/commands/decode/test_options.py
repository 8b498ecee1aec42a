from pathlib import Path

import pytest
import typer

from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.selection import Selection
from kdiag_cli.commands.decode.options import DecodeOptions, check
from kdiag_cli.options.captures import CaptureInputs, TableContents
from kdiag_cli.options.filters import CaptureMoment
from tiers.cases import for_each

FILE = CaptureInputs(["a.pcap"])


def test_without_options_everything_is_listed_as_text() -> None:
    """The defaults choose all, and redact."""
    options = DecodeOptions(FILE)
    check(options)
    assert (options.output, options.is_listing) == ("text", True)
    assert (options.selection(), options.form) == (Selection(), BodyForm())
    assert options.contents == TableContents()


def test_options_about_exchanges_are_a_selection() -> None:
    """In the types that the library compares with."""
    options = DecodeOptions(FILE, api_keys={1}, clients=["a"], connections=["2"], min_latency_ns=5)
    assert options.selection() == Selection(
        api_keys=frozenset({1}), clients=("a",), connections=frozenset({"2"}), min_latency_ns=5
    )


def test_times_of_the_capture_are_those_of_its_first_packet() -> None:
    """So the selection is made when that is known."""
    options = DecodeOptions(FILE, since=CaptureMoment(5, is_from_start=True), where="version = 3")
    selection = options.selection(100)
    assert (selection.since_ns, selection.until_ns) == (105, None)
    assert selection.where is not None


def test_options_about_bodies_count_for_documents_and_tables() -> None:
    """`--values` makes the table of records, too."""
    options = DecodeOptions(FILE, values=True, show_secrets=True, sort=True, tcp=True)
    assert options.form == BodyForm(values=True, show_secrets=True)
    assert options.contents == TableContents(
        records=True, tcp=True, shows_secrets=True, is_sorted=True
    )


@for_each(
    ("options", "why"),
    [
        (DecodeOptions(FILE, summary=True, show=1), "choose one of --summary"),
        (DecodeOptions(CaptureInputs()), "give captures to read"),
        (DecodeOptions(FILE._replace(live="lo")), "give captures to read"),
        (DecodeOptions(FILE._replace(write=Path("b")), explain=1), "not with --show"),
        (DecodeOptions(FILE._replace(is_promiscuous=True)), "is for --live"),
        (DecodeOptions(FILE._replace(filter="tcp")), "is for --live"),
        (DecodeOptions(FILE, with_waits=True), "is for --min-latency"),
        (DecodeOptions(FILE, where="version = abc"), r"\^\^\^"),
        (DecodeOptions(FILE, "csv", explain=1), "--output csv lists exchanges"),
        (DecodeOptions(FILE, "parquet", Path("t"), raw=True), "writes tables, nothing else"),
        (DecodeOptions(FILE, "parquet"), "needs a folder"),
        (DecodeOptions(FILE, "jsonl", csv_safe=True), "is for cells: give -o csv"),
        (DecodeOptions(FILE, "json", Path("t")), "is for --output parquet"),
        (DecodeOptions(FILE, bodies=False), "is for --output parquet"),
    ],
)
def test_contradictions_are_refused(options: DecodeOptions, why: str) -> None:
    """Before anything is read."""
    with pytest.raises(typer.BadParameter, match=why):
        check(options)
