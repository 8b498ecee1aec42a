import shlex
from pathlib import Path
from unittest.mock import patch

import pytest

from kdiag_cli.commands.lab.proxy import command, run
from kdiag_cli.commands.lab.proxy.run import ProxyOptions
from kdiag_cli.exit_code import ExitCode
from programs.kdiag_program import Done, kdiag

EXAMPLES = [
    shlex.split(line)[1:]
    for line in command.PROXY_EXAMPLES.splitlines()
    if line.startswith("  kdiag")
]


def asked(*arguments: str) -> tuple[Done, list[ProxyOptions]]:
    """Return what the proxy is asked for, which is not started."""
    seen: list[ProxyOptions] = []

    def note(options: ProxyOptions, _: object) -> ExitCode:
        seen.append(options)
        return ExitCode.DONE

    with patch.object(run, "run_proxy", note):
        return kdiag(*arguments), seen


@pytest.mark.parametrize("arguments", EXAMPLES, ids=" ".join)
def test_the_examples_in_the_help_are_understood(arguments: list[str]) -> None:
    """Each starts a proxy."""
    done, seen = asked(*arguments)
    assert (done.code, done.err, len(seen)) == (0, "", 1)


def test_options_are_handed_on(tmp_path: Path) -> None:
    """As they were read; files of faults, too."""
    path = tmp_path / "faults.yaml"
    path.write_text("faults: [Fetch delay=1s]")
    line = (
        f"lab proxy -b h:1 --port 9 --host ::1 --pcap p --faults {path} --control-port 0 -o jsonl"
    )
    _, (options,) = asked(*shlex.split(line))
    (fault,) = options.faults
    assert fault.text == "Fetch delay=1s"
    assert options == ProxyOptions("::1", 9, Path("p"), (fault,), 0, is_json=True)


def test_other_recordings_are_refused() -> None:
    """They would have nothing."""
    done, seen = asked("lab", "proxy", "-b", "h:1", "--write", "x.pcap")
    assert (done.code, seen, "--pcap" in done.err) == (2, [], True)
