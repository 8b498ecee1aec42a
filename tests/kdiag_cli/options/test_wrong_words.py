"""Wrong words and misplaced arguments are answered with the command that was meant."""

import shlex
from pathlib import Path

import pytest

from folders import CAPTURES, ROOT
from kdiag_cli.app import COMMANDS, FIRST_SCREEN, PANELS
from kdiag_cli.options.wrong_words import command_meant
from programs.kdiag_program import kdiag
from tiers.cases import for_each

ACKS = CAPTURES / "acks.pcap"
REPORTS = ["compat", "latency", "latency_over_time"]


@pytest.mark.thorough
@for_each(
    ("line", "command"),
    [
        (f"{ACKS} --summary", f"kdiag decode {ACKS} --summary"),
        ("traffic.pcap", "kdiag decode traffic.pcap"),
        ("kafka1:9092", "kdiag check -b kafka1:9092"),
        ("consume", "kdiag tail TOPIC -b HOST:PORT"),
        ("produce", "use kcat -P or kafka-console-producer"),
        ("topics", """kdiag request Metadata '{"topics": null}' -b HOST:PORT"""),
        ("metadata", "kdiag request Metadata -b HOST:PORT"),
        ("brokers", "kdiag request Metadata -b HOST:PORT"),
        ("lag", "kdiag groups -b HOST:PORT"),
        ("consumer-groups", "kdiag groups -b HOST:PORT"),
        ("offsets", "kdiag groups -b HOST:PORT GROUP"),
        ("version", "kdiag --version"),
        ("dump", "kdiag decode FILE.pcap"),
        ("proxy", "kdiag lab proxy -b HOST:PORT"),
        ("create", "use kafka-topics.sh, kcl or kafkactl"),
        ("tial", "did you mean kdiag tail?"),
        ("comsume", "did you mean consume: kdiag tail TOPIC -b HOST:PORT?"),
        ("qqq", "kdiag help qqq searches"),
        ("check localhost:9092 --quick", "kdiag check -b localhost:9092 --quick"),
        ("latency kafka1:9092", "kdiag latency -b kafka1:9092"),
        ("groups kafka1.example.org:9092", "kdiag groups -b kafka1.example.org:9092"),
        ("tail orders localhost:9092 -e", "kdiag tail -b localhost:9092 orders -e"),
        (f"report {ACKS}", f"kdiag report REPORT {ACKS}"),
        (f"report {ACKS} compat", f"kdiag report compat {ACKS}"),
        (f"report compat {ACKS} target=4.1", f"kdiag report compat {ACKS} -p target=4.1"),
        (f"report compatt {ACKS}", "did you mean compat?"),
        ("tail orders -b localhost:1 -o stored", "kdiag tail TOPIC -g GROUP"),
        ("tail orders -b localhost:1 -o committed", "kdiag tail TOPIC -g GROUP"),
    ],
)
def test_what_was_meant_is_named_with_its_command(line: str, command: str) -> None:
    """On stderr, with the exit code of wrong usage, and nothing runs."""
    done = kdiag(*shlex.split(line))

    assert (done.code, done.out) == (2, "")
    assert command in done.err


@for_each("word", ["lag", "version", "topics", "brokers", "offsets"])
def test_a_word_is_not_answered_by_its_letters(word: str) -> None:
    """`lag` is not `lab`, and `version` not `api-versions`."""
    meant = command_meant([word], COMMANDS)
    assert "lab" not in meant
    assert "api-versions" not in meant


@for_each(
    "line",
    [
        "tail orders:3 -b localhost:1 -e",
        "tail orders:3 -e",
        "groups billing:2024 -b localhost:1",
        "find-coordinator localhost:9092 -b localhost:1",
    ],
)
def test_what_only_looks_like_an_address_is_left_alone(line: str) -> None:
    """A partition, a group with a colon, and any name beside `-b`."""
    assert "is an address" not in kdiag(*shlex.split(line)).err


@pytest.mark.thorough
@for_each(
    ("sql", "answer"),
    [
        ("SELECT * FROM exchange", "did you mean exchanges?"),
        ("SELECT latency FROM exchanges", "did you mean latency_us?"),
        ("SELECT client_idd FROM exchanges", "did you mean client_id?"),
    ],
)
def test_sql_with_a_wrong_name_is_answered_with_the_right_one(sql: str, answer: str) -> None:
    """Of tables and of columns, in one line."""
    done = kdiag("query", ACKS, sql)

    assert (done.code, done.out) == (2, "")
    assert answer in done.err
    assert done.err.count("\n") == 1


def test_kdiag_alone_fits_a_screen() -> None:
    """All commands and six examples, in less than 24 lines of 80 columns."""
    done = kdiag()

    assert (done.code, done.out, done.err) == (0, FIRST_SCREEN, "")
    assert len(done.out.splitlines()) < 24
    assert max(map(len, done.out.splitlines())) <= 80
    assert all(f" {name}" in done.out for names in PANELS.values() for name in names)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"| `kdiag {name}` |" in readme for names in PANELS.values() for name in names)


def test_the_lines_of_commands_do_not_wrap() -> None:
    """At 80 columns, with the column of names before them."""
    assert {name: line for name, (_, line) in COMMANDS.items() if len(line) > 58} == {}
    assert all(len(line) <= 80 for line in kdiag("--help").out.splitlines())


@pytest.mark.thorough
@for_each("name", ["check", "decode", "groups", "tail", "latency"])
def test_the_short_help_names_shared_options_alone(name: str) -> None:
    """`-h` has the command's own options, `--help` all with their texts; no word is broken."""
    short, whole = (kdiag(name, each).out for each in ("-h", "--help"))

    assert len(short.splitlines()) < len(whole.splitlines()) * 0.85
    assert f"kdiag {name} --help shows all of it." in short
    assert "Exit codes:" not in short
    for page in (short, whole):
        assert "--help-json" in page
        assert not [
            each for each in page.splitlines() if each.endswith("-") and "kdiag" not in each
        ]


@pytest.mark.thorough
def test_what_succeeds_is_said(tmp_path: Path) -> None:
    """One line on stderr with tables, rows, folder, and the next command."""
    done = kdiag("decode", ACKS, "-o", "parquet", "--out", f"{tmp_path}/t")

    assert (done.code, done.out) == (0, "")
    assert done.err == (
        f"kdiag: wrote 65 rows to {tmp_path}/t (batches 15, captures 1, connections 6, "
        f"exchanges 24, latency_minutes 19): kdiag query {tmp_path}/t 'SELECT ...'\n"
    )
