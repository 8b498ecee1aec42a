import pytest
import typer

from kdiag.report.run_log import TableStore
from kdiag_cli.commands.pipeline.options import (
    catalog_name,
    read_conf,
    require_spark,
    run_name,
    split_bytes,
    table_store,
)
from kdiag_cli.exit_code import ExitCode


def test_settings_of_spark_are_keys_with_values() -> None:
    """The value is what stands behind the first equals sign."""
    assert read_conf(["spark.a=1", "spark.b=x=y"]) == {"spark.a": "1", "spark.b": "x=y"}
    with pytest.raises(typer.BadParameter, match="is not key=value"):
        read_conf(["spark.a"])


def test_without_java_the_program_ends_before_spark_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the line that installs it."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(typer.Exit) as raised:
        require_spark()

    assert raised.value.exit_code is ExitCode.USAGE
    assert "kdiag: Spark: this needs" in capsys.readouterr().err


def test_a_split_is_given_in_megabytes() -> None:
    """The option is called `--split-mb`; other units may be written."""
    assert split_bytes("64") == split_bytes("64M") == 64 << 20
    for text in ("0", "2000", "64K"):
        with pytest.raises(typer.BadParameter, match="not between 1M and 1G"):
            split_bytes(text)


def test_the_name_of_a_run_can_be_that_of_a_file() -> None:
    """It is part of one."""
    assert [run_name(text) for text in ("", "day-1.a_b")] == ["", "day-1.a_b"]
    for text in ("a/b", "..", "-a", "a b"):
        with pytest.raises(typer.BadParameter, match="letters, digits"):
            run_name(text)


def test_libraries_of_java_are_settings_of_spark() -> None:
    """A setting that is given by its own name precedes."""
    assert read_conf([], "a:b:1", "c.jar") == {
        "spark.jars.packages": "a:b:1",
        "spark.jars": "c.jar",
    }
    assert read_conf(["spark.jars=d.jar"], None, "c.jar") == {"spark.jars": "d.jar"}


def test_a_format_that_cannot_be_where_it_is_wanted_is_refused() -> None:
    """Iceberg lives in catalogs alone; Parquet has no rows that could be replaced there."""
    assert table_store("delta", "", is_hourly=False) == TableStore("delta")
    assert table_store("iceberg", "lake.kafka", is_hourly=False).catalog == "lake.kafka"
    for form, catalog, is_hourly, why in (
        ("parquet", "lake.kafka", False, "takes --format delta or iceberg"),
        ("iceberg", "", False, "takes --catalog NAME"),
        ("delta", "", True, "divides Parquet alone"),
    ):
        with pytest.raises(typer.BadParameter, match=why):
            table_store(form, catalog, is_hourly=is_hourly)
    with pytest.raises(typer.BadParameter, match="is not a name in a catalog"):
        catalog_name("lake; DROP")
