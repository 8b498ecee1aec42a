import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag_cli.exit_code import ExitCode
from programs.kdiag_program import kdiag, kdiag_in_turns
from tiers.cases import for_each

NEEDS_SPARK = pytest.mark.skipif(not find_spec("pyspark"), reason="PySpark is not installed")


@for_each(
    ("option", "value", "why"),
    [
        ("--from", "yesterday", "'yesterday' is not a moment"),
        ("--to", "12:00", "is not a moment"),
        ("--conf", "spark", "'spark' is not key=value"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    option: str, value: str, why: str, tmp_path: Path
) -> None:
    """Before anything is started."""
    done = kdiag("pipeline", "run", CAPTURES, "--out", tmp_path, option, value)

    assert done.code == ExitCode.USAGE
    assert why in done.err


@NEEDS_SPARK
def test_a_file_of_topic_ids_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Once it is clear that Spark is there, and before it is started."""
    options = ("--out", tmp_path, "--topic-ids", "/nowhere")
    done = kdiag("pipeline", "run", CAPTURES, *options)

    assert done.code == ExitCode.USAGE
    assert "No such file" in done.err


@pytest.mark.real
@pytest.mark.soak
def test_tables_are_written_and_asked(tmp_path: Path) -> None:
    """What is written is said in the document; a cut capture makes the run partial."""
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((CAPTURES / "acks.pcap").read_bytes()[:-10])
    out = tmp_path / "out"
    ends = kdiag("query", cut, "SELECT max(time) AS last FROM exchanges", "-o", "csv").out
    last = ends.split()[1]
    sql = "SELECT count(*) AS n FROM exchanges WHERE capture_file = '{}' AND run IS NOT NULL"
    sql = sql.format(cut)
    done, there, asked = kdiag_in_turns(
        ("pipeline", "run", cut, "--out", out, "--parts", 2, "-o", "json"),
        ("pipeline", "report", "clients", out, "-o", "csv"),
        ("pipeline", "query", out, sql, "--from", last, "--dialect", "spark", "-o", "csv"),
    )
    assert done.code == ExitCode.PARTIAL
    document = json.loads(done.out)
    assert document["data"][0]["rows"]["exchanges"] > 0
    assert "ends within a packet" in document["warnings"][0]
    here = kdiag("report", "clients", out, "-o", "csv")

    assert (there.code, there.out, there.err) == (ExitCode.DONE, here.out, "")
    assert len(here.out.splitlines()) > 1
    later = kdiag("query", out, f"{sql} AND time >= '{last}'", "-o", "csv").out
    assert asked.out == later != "n\n0\n"


@NEEDS_SPARK
def test_what_is_no_question_is_refused_before_spark_starts(tmp_path: Path) -> None:
    """Nothing is changed, and nobody waits for a JVM."""
    refused = kdiag("pipeline", "query", tmp_path, "DROP TABLE exchanges")
    assert (refused.code, "one SELECT" in refused.err) == (ExitCode.USAGE, True)


@pytest.mark.thorough
@NEEDS_SPARK
def test_a_table_that_nobody_has_made_is_refused_before_spark_starts(tmp_path: Path) -> None:
    """As without Spark, instead of an empty answer; a run that saw no rebalance has made that."""
    exchanges = tmp_path / "exchanges" / "some.parquet"
    kdiag("decode", CAPTURES / "acks.pcap", "-o", "parquet", "--out", tmp_path / "here")
    exchanges.parent.mkdir()
    (tmp_path / "here" / "exchanges.parquet").rename(exchanges)
    run = {"run": "r", "rows": {"exchanges": 1, "batches": 1}, "schema": 3}
    for entry in (None, run | {"files": ["exchanges/some.parquet"]}):
        if entry is not None:
            (tmp_path / "_runs").mkdir()
            (tmp_path / "_runs" / "r.json").write_text(json.dumps(entry))
        for command in (("report",), ("pipeline", "report")):
            done = kdiag(*command, "hot_keys", tmp_path)
            assert (done.code, done.out) == (ExitCode.USAGE, ""), (command, entry)
            assert "there is no table " in done.err
    empty = kdiag("report", "rebalances", tmp_path, "-o", "json")
    assert (empty.code, json.loads(empty.out)["data"], empty.err) == (ExitCode.DONE, [], "")
