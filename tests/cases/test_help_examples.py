"""The examples in the help of `kdiag decode` run as they stand, and its tables are complete."""

import re
import shlex
from pathlib import Path

import pytest

from folders import CAPTURES, ROOT, TLS_CAPTURES
from kdiag.pcap.encapsulation import ETHERTYPE, Encapsulation
from kdiag.pcap.packets.dissector import DISSECTORS
from kdiag.pcap.packets.index import STEPS
from kdiag_cli.commands.decode.command import EXAMPLES
from programs.kdiag_program import kdiag

GROUP = CAPTURES / "produce_consume_group.pcap"
ACKS = CAPTURES / "acks.pcap"


def example_arguments() -> list[list[str]]:
    """Return the arguments of each example in the help, up to a pipe."""
    found = []
    for line in EXAMPLES.splitlines():
        words = shlex.split(line.partition(" | jq")[0])
        if "decode" in words and "--live" not in words:  # tests/interop has the live interface
            found.append(words[words.index("decode") + 1 :])
    return found


@pytest.mark.parametrize("arguments", example_arguments(), ids=" ".join)
def test_the_examples_in_the_help_run(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are typed as they stand by whoever reads them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traffic.pcap").write_bytes(GROUP.read_bytes())
    keylog = TLS_CAPTURES / "tls12_aiokafka.keylog"
    (tmp_path / "keys.log").write_bytes(keylog.read_bytes())

    done = kdiag("decode", *arguments, stdin=ACKS.read_bytes())

    assert done.code == 0
    said = [line for line in done.err.splitlines() if not line.endswith(" judges them")]
    assert said == [] or said[0].startswith(("kdiag: no exchange of ", "kdiag: wrote "))


def test_every_option_is_in_the_help() -> None:
    """The examples stand below them."""
    out = kdiag("decode", "--help").out

    for option in ("--output", "--api", "--show", "--explain", "--sort", "--keylog", "--live"):
        assert option in out
    assert len(example_arguments()) >= 8
    assert "Exit codes: 0 done" in out


@pytest.mark.parametrize("encapsulation", [*STEPS, *DISSECTORS], ids=str)
def test_every_encapsulation_that_is_read_is_in_the_help(encapsulation: Encapsulation) -> None:
    """Its number stands in a row that says by what it is read."""
    if encapsulation in {Encapsulation(ETHERTYPE, 4), Encapsulation("IP protocol", 17)}:
        pytest.skip("the help calls it LLC or UDP")
    topic = (ROOT / "cmd" / "kdiag_cli" / "help" / "captures" / "packets.md").read_text(
        encoding="utf-8"
    )
    number = str(encapsulation).rpartition(" ")[2]
    rows = [line for line in topic.splitlines() if re.search(rf"\b{number}\b", line)]

    reader = "in columns" if encapsulation in STEPS else "by scapy"
    assert any(reader in row for row in rows)
