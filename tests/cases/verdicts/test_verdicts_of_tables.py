"""Captures of real trouble: pages, and tables of one process and of Spark, name the cause, too."""

import html
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kdiag.report.tables.catalog import TableChoice
from programs.kdiag_program import kdiag
from tests.cases.verdicts.test_verdicts import FOLDER, VERDICTS, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(
    "KDIAG_REFERENCE" not in os.environ, reason="KDIAG_REFERENCE is not set"
)

FEW = [each for each in VERDICTS if each.capture in {"min_isr_small", "broker_frozen_small"}]


def ids(verdicts: list[Verdict] | tuple[Verdict, ...]) -> list[str]:
    """Return the names of captures."""
    return [each.capture for each in verdicts]


def make_tables(verdict: Verdict, folder: Path, *options: str) -> Path:
    """Write the tables of a capture in one process."""
    capture = FOLDER / f"{verdict.capture}.pcap"
    kdiag("decode", capture, "--output", "parquet", "--tcp", "--out", folder, *options)
    return folder


def check_titles(verdict: Verdict, titles: list[str]) -> None:
    """Check that the first finding names the cause, and that none says what is not so."""
    for text in verdict.first:
        assert text in titles[0]
    for text in verdict.never:
        assert text not in "\n".join(titles)


def check_tables(verdict: Verdict, tables: Path) -> None:
    """Check the findings of tables, and that the first has a command that prints its exchanges."""
    done = kdiag("report", "findings", tables, "-o", "jsonl")
    lines = kdiag("report", "findings", tables).out.splitlines()
    check_titles(
        verdict, [line for line in lines if line.startswith(("error ", "warning ", "info "))]
    )
    assert lines[0].startswith(("error ", "warning ", "info ")), "the cause is the first line"
    first = re.search(r'"more": ?"((?:[^"\\]|\\.)*)"', done.out)
    assert first
    words = shlex.split(first[1].encode().decode("unicode_escape"))
    assert kdiag(*words[1:], "-o", "jsonl").out, "what is behind it"


def check_page(verdict: Verdict, source: Path, file: Path) -> None:
    """Check the findings of a page, the first of which stands before all tables and plots."""
    kdiag("report", "--html", file, source)
    page = html.unescape(file.read_text())
    titles = re.findall(
        r'<div class="remark (?:error|warning|info)">\n<p class="title">(.*)</p>', page
    )
    check_titles(verdict, titles)
    assert page.index(titles[0]) < page.index("<table>")
    assert "No rule found a problem" not in page


@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize("verdict", VERDICTS, ids=ids(VERDICTS))
def test_tables_name_the_cause_first(verdict: Verdict, tmp_path: Path) -> None:
    """As `decode --summary` does of the capture."""
    check_tables(verdict, make_tables(verdict, tmp_path / "tables"))


@pytest.mark.thorough
@pytest.mark.parametrize("verdict", FEW[:1], ids=ids(FEW[:1]))
def test_tables_without_bodies_name_the_cause_first(verdict: Verdict, tmp_path: Path) -> None:
    """What clients and brokers do is in columns of its own."""
    check_tables(verdict, make_tables(verdict, tmp_path / "tables", "--no-bodies"))


@pytest.mark.thorough
@pytest.mark.parametrize("verdict", FEW[:1], ids=ids(FEW[:1]))
def test_a_page_names_the_cause_first(verdict: Verdict, tmp_path: Path) -> None:
    """Of the capture, and of its tables."""
    check_page(verdict, FOLDER / f"{verdict.capture}.pcap", tmp_path / "page.html")
    check_page(verdict, make_tables(verdict, tmp_path / "tables"), tmp_path / "of_tables.html")


@pytest.mark.soak
@pytest.mark.parametrize("verdict", VERDICTS, ids=ids(VERDICTS))
def test_every_page_names_the_cause_first(verdict: Verdict, tmp_path: Path) -> None:
    """Of each capture, and of its tables."""
    tables = make_tables(verdict, tmp_path / "tables")
    check_tables(verdict, tables)
    check_page(verdict, FOLDER / f"{verdict.capture}.pcap", tmp_path / "page.html")
    check_page(verdict, tables, tmp_path / "of_tables.html")


def check_spark(verdict: Verdict, spark: "SparkSession", folder: Path) -> None:
    """Check the findings of tables that Spark has made, and their page."""
    from kdiag.pipeline.job import Job  # noqa: PLC0415 - pyspark is of the extra `dev`
    from kdiag.pipeline.run import run  # noqa: PLC0415 - as above

    capture = FOLDER / f"{verdict.capture}.pcap"
    job = Job((str(capture),), str(folder / "tables"), choice=TableChoice(tcp=True), parts=2)
    run(spark, job)
    check_tables(verdict, folder / "tables")
    check_page(verdict, folder / "tables", folder / "page.html")


@pytest.mark.real
@pytest.mark.parametrize("verdict", FEW[:1], ids=ids(FEW[:1]))
def test_tables_of_spark_name_the_cause_first(
    verdict: Verdict, spark: "SparkSession", tmp_path: Path
) -> None:
    """As those of one process."""
    check_spark(verdict, spark, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("verdict", VERDICTS, ids=ids(VERDICTS))
def test_all_tables_of_spark_name_the_cause_first(
    verdict: Verdict, spark: "SparkSession", tmp_path: Path
) -> None:
    """Of each capture."""
    check_spark(verdict, spark, tmp_path)
