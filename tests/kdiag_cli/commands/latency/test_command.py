import re

from kdiag_cli.commands.latency.command import EXAMPLES
from programs.kdiag_program import kdiag
from tiers.cases import for_each

KIP_1172 = {
    "--bootstrap-server",
    "--topic",
    "--num-records",
    "--producer-acks",
    "--record-size",
    "--record-key-size",
    "--num-headers",
    "--record-header-key-size",
    "--record-header-size",
    "--command-config",
}
"""The options of Kafka's own tool."""


def test_the_help_knows_the_options_of_kafkas_own_tool() -> None:
    """Whoever comes from there needs no other names."""
    done = kdiag("latency", "--help")
    assert done.code == 0
    assert set(re.findall(r"--[\w-]+", done.out)) >= KIP_1172


def test_examples_use_options_that_exist() -> None:
    """Each is one of the command's."""
    options = re.findall(r"^  (-.*)", kdiag("latency", "--help").out, re.MULTILINE)
    known = set(re.findall(r"--?[\w-]+", "\n".join(options)))
    examples = [line for line in EXAMPLES.splitlines() if line.startswith("  kdiag ")]
    used = {word for line in examples for word in line.split() if word.startswith("-")}
    assert used <= known
    assert len(examples) > 4


@for_each(
    "arguments",
    [["--read-only"], ["--acks", "7"], ["--size", "3"], ["--num-records", "0"], ["--rate", "x"]],
)
def test_wrong_usage_is_told_before_anybody_is_asked(arguments: list[str]) -> None:
    """Exit code 2."""
    done = kdiag("latency", "-b", "127.0.0.1:1", *arguments)
    assert (done.code, done.out) == (2, "")
    assert arguments[0] in done.err


def test_a_broker_that_is_not_there_cannot_be_measured() -> None:
    """Exit code 3, and a document with the finding."""
    done = kdiag("latency", "-b", "127.0.0.1:1", "-o", "json")
    assert done.code == 3
    assert '"KD1101"' in done.out
