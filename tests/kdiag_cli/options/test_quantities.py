"""One grammar for each quantity, over all options of all commands."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer
from typer.main import get_command

from kdiag_cli.app import app
from kdiag_cli.options.quantities import (
    OptionDefault,
    bits_per_s,
    duration_ns,
    interval_ns,
    moment_ns,
    positive_ns,
    size_bytes,
    usage_errors,
)
from programs.kdiag_program import kdiag

TIMES: Final = ("500ms", "0.5s", "2 S", "1s500ms", "1500000us")
SIZES: Final = ("65536", "64K", "64kib", "100kB", "0.5M")
MOMENTS: Final = ("2026-01-15", "2026-01-15T10:30:00.5Z", "1768473000", "-1h", "now")
NO_TIMES: Final = ("5", "0.5", "soon", "-5s", "1e3s", "5 parsecs", "")
NO_SIZES: Final = ("big", "-64K", "1.5", "64Q", "")
NO_MOMENTS: Final = ("soon", "@-1h", "-5", "1960-01-01", "")

FORMS: Final = {
    "TIME": (TIMES, NO_TIMES),
    "SIZE": (SIZES, NO_SIZES),
    "WHEN": (MOMENTS, NO_MOMENTS),
    "RATE": (("1Gbit", "200mbit/s", "1Gbps", "125MB/s", "10MiB/s"), ("5", "1G", "10Mb/s", "x")),
    "N/s": (("100/s", "0.5 / sec", "30/m"), ("100", "0/s", "fast", "99999/s", "")),
    "SIZES": (("64k,1m,auto", "KERNEL, 100K", "-1"), ("64k,", "big", "1k", "2g", "")),
    "1,1024": (("1", "1, 64K,1M"), ("1,x", "3G", "1,-1")),
    "0,500": (("0", "0,500", "100ms, 0.5s"), ("soon", "1.5", "3000000000", "-1")),
}
"""What options with a metavar take, and what they refuse."""

SPECIAL: Final[dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]]] = {
    ("tune-buffers", "--rtt"): (("auto", *TIMES), ("0", *NO_TIMES)),
    ("tune-buffers", "--seconds"): (("2", "0.5", *TIMES), ("0", "61", "2m", "soon")),
    ("pipeline run", "--split-mb"): (("64", "64M", "100MB", "1G"), ("0", "64K", "2000", "x")),
    ("latency", "--size"): (("16", *SIZES), ("15", *NO_SIZES)),
    ("latency", "--record-header-size"): (("-1", "0", *SIZES), ("-2", *NO_SIZES)),
}
"""The same of options that have bounds, another word, or their unit in their name."""

MAY_BE_ZERO: Final = {
    "--min-latency",
    "--warm-up",
    "--every",
    "--quiet",
    "--idle",
    "--wait-for-copies",
}

ARGUMENTS: Final = {
    "decode": ("missing.pcap",),
    "tail": ("orders",),
    "request": ("Metadata",),
    "find-coordinator": ("orders",),
    "rebalance explain": ("missing.pcap",),
    "tune-buffers": ("missing.pcap",),
    "pipeline run": ("missing.pcap", "--out", "tables", "--topic-ids", "missing"),
    "pipeline stream": ("captures", "--out", "tables", "--checkpoint", "kept", "--close"),
}
"""What else a command needs to get past its options; then it fails, before it does anything."""


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its name, those of groups too."""
    for name, command in group.commands.items():
        real = command.make_context(name, ["--help"], resilient_parsing=True).command
        if hasattr(real, "commands"):
            yield from commands(real, f"{name} ")
        else:
            yield path + name, real


def quantities() -> list[tuple[str, str, str]]:
    """Return command, option and metavar of every option that is a quantity."""
    return [
        (name, each.opts[0], each.metavar)
        for name, command in commands(get_command(app))
        for each in command.params
        if each.metavar in FORMS and each.param_type_name == "option"
    ]


def run(command: str, option: str, text: str) -> tuple[int, str]:
    """Return the exit code of a command with an option, and what it says in one line."""
    done = kdiag(*command.split(), *ARGUMENTS.get(command, ()), f"{option}={text}")
    return done.code, " ".join(done.err.split())


@pytest.fixture(autouse=True)
def _nothing_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no file and no setting of this machine play a part."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("KDIAG_BOOTSTRAP_SERVERS", "KAFKA_BOOTSTRAP_SERVERS", "BROKERS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.thorough
@pytest.mark.sampled(12)
@pytest.mark.parametrize(("command", "option", "metavar"), quantities())
def test_every_option_has_the_grammar_of_its_kind(command: str, option: str, metavar: str) -> None:
    """Whatever the command; what is wrong names the option."""
    accepted, refused = SPECIAL.get((command, option), FORMS[metavar])
    for text in (*accepted, *(["0"] if option in MAY_BE_ZERO else [])):
        code, said = run(command, option, text)
        assert code in {1, 2}, text
        assert f"'{option}'" not in said, text
    is_above_zero = metavar == "TIME" and option not in MAY_BE_ZERO
    for text in (*refused, *(["0", "0s"] if is_above_zero else [])):
        code, said = run(command, option, text)
        assert code == 2, text
        assert "Invalid value for" in said, text
        assert option in said, text


@pytest.mark.thorough
def test_the_options_that_must_be_there_are_there() -> None:
    """An option whose metavar is changed does not slip through."""
    found = {(command, option) for command, option, _ in quantities()}
    live = {"api-versions", "check", "find-coordinator", "groups", "latency", "request", "tail"}
    assert {(name, "--timeout") for name in (*live, "tune-buffers")} <= found
    assert {("decode", each) for each in ("--min-latency", "--max-frame", "--max-waiting")} <= found
    assert set(SPECIAL) <= found
    assert {("tail", "--until"), ("pipeline run", "--from"), ("pipeline run", "--to")} <= found
    assert {("pipeline stream", each) for each in ("--every", "--quiet", "--idle")} <= found
    assert {option for _, option in found} >= MAY_BE_ZERO


def test_offsets_of_tail_have_moments_behind_an_at() -> None:
    """The grammar of moments, once more."""
    for text in MOMENTS:
        assert "bootstrap.servers" in run("tail", "--offset", f"@{text}")[1]
    for text in ("soon", "-5", "1960-01-01"):
        assert "--offset" in run("tail", "--offset", f"@{text}")[1]


def test_a_default_is_shown_as_it_is_typed_and_is_a_number() -> None:
    """Its text means the number."""
    default = OptionDefault(positive_ns, "1s")
    assert (default, str(default)) == (1_000_000_000, "1s")
    for name, each in commands(get_command(app)):
        for option in each.params:
            if isinstance(option.default, OptionDefault):
                assert option.type.convert(str(option.default), option, None) == option.default, (
                    name
                )


def test_parsers_pass_defaults_on() -> None:
    """Typer parses what it has from the declaration as well."""
    for parse in (duration_ns, positive_ns, size_bytes, interval_ns, bits_per_s, moment_ns):
        assert parse(7) == 7
    assert type(size_bytes(OptionDefault(size_bytes, "1K"))) is int  # can be pickled, for Spark


def test_a_mistake_becomes_wrong_usage_of_an_option() -> None:
    """Where typer does not know which one, its name is given."""
    with pytest.raises(typer.BadParameter) as caught, usage_errors("--sizes"):
        raise ValueError("too large")
    assert (caught.value.message, caught.value.param_hint) == ("too large", "'--sizes'")
