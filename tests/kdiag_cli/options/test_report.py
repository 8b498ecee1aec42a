import pytest
import typer

from kdiag_cli.options.report import read_query


def test_parameters_are_given_as_key_and_value() -> None:
    """The value is what stands behind the first equals sign."""
    assert read_query("latency", ["api=Fetch", "client=a=b"]).values == {
        "api": "Fetch",
        "client": "a=b",
    }


def test_what_is_not_known_ends_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    """With the exit code of wrong usage."""
    with pytest.raises(typer.Exit) as raised:
        read_query("latency", ["broker=1"])

    assert raised.value.exit_code == 2
    assert "has no parameter broker" in capsys.readouterr().err


def test_a_parameter_without_a_value_is_refused() -> None:
    """It is wrong usage."""
    with pytest.raises(typer.BadParameter, match="'api' is not key=value"):
        read_query("latency", ["api"])
