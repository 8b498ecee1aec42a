"""Real shells complete with the scripts that `kdiag completion` prints."""

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kdiag.wire.api.list_groups import ListedGroup, ListGroupsResponse
from kdiag.wire.api.metadata import MetadataResponseTopic
from kdiag_cli.commands.help.completion import SCRIPTS, Shell
from programs.child_program import ChildProgram
from programs.kdiag_program import kdiag
from scripted_kafka.scripted_cluster import ScriptedCluster

Complete = Callable[[str], list[str]]
"""Takes what is typed, and returns the words that the shell offers."""

TIMEOUT_S = 60
BASH = f"""
source {shlex.quote(str(SCRIPTS / "kdiag.bash"))}
COMP_LINE=$1 COMP_POINT=${{#1}}
_kdiag_completion kdiag
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
FISH = f"source {shlex.quote(str(SCRIPTS / 'kdiag.fish'))}; complete -C $argv[1]"
ZSH = "autoload -Uz compinit && compinit -u -D && source <(kdiag completion zsh) && echo re''ady\n"


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """One broker that knows three groups, one of them named to do harm."""
    names = ("orders", "payments", "$(touch harm)")
    with ScriptedCluster(1) as cluster:
        groups = [ListedGroup(name, "consumer") for name in names]
        cluster.on("ListGroups", ListGroupsResponse(groups=groups))
        yield cluster


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `kdiag` is this one, and nothing is configured."""
    program = tmp_path / "kdiag"
    run = f'exec {shlex.quote(sys.executable)} -m kdiag_cli "$@"'
    program.write_text(f"#!/bin/sh\n{run}\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(tmp_path), "TERM": "dumb", "PS1": "> ", "LC_ALL": "C.UTF-8"}


def need(shell: str) -> str:
    """Return where a shell is; without it the test is skipped."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    return found


def completed(command: list[str], environment: dict[str, str]) -> list[str]:
    """Run a shell and return the lines that it prints."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=environment["HOME"],
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT_S,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture
def bash(environment: dict[str, str]) -> Complete:
    """What bash offers, as it would stand on the line."""
    shell = need("bash")
    return lambda line: completed([shell, "--norc", "-c", BASH, "bash", line], environment)


@pytest.fixture
def fish(environment: dict[str, str]) -> Complete:
    """What fish offers, without descriptions."""
    command = [need("fish"), "--no-config", "-c", FISH]

    def complete(line: str) -> list[str]:
        return [each.split("\t")[0] for each in completed([*command, line], environment)]

    return complete


def read_until(terminal: int, text: str) -> str:
    """Return what a terminal shows up to a text."""
    shown = ""
    while text not in shown:
        ready, _, _ = select.select([terminal], [], [], TIMEOUT_S)
        assert ready, f"no {text!r} in {shown!r}"
        shown += os.read(terminal, 65536).decode()
    return shown


@pytest.mark.parametrize("shell", [each for each in Shell if each is not Shell.MAN])
def test_the_script_is_printed_as_it_is(shell: Shell) -> None:
    """Ready for `source`."""
    done = kdiag("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert done.out == (SCRIPTS / f"kdiag.{shell}").read_text()


def test_another_shell_is_wrong_usage() -> None:
    """Those that there are are named."""
    done = kdiag("completion", "tcsh")
    assert done.code == 2
    assert "'bash', 'zsh', 'fish'" in done.err


@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kdiag find", ["find-coordinator"]),
        ("kdiag request DescribeQ", ["DescribeQuorum"]),
        ("kdiag errcode NOT_COORD", ["NOT_COORDINATOR"]),
        ("kdiag groups --type s", ["share", "streams"]),
        ("kdiag txn l", ["list"]),
        ("kdiag find-coordinator --fail-on w", ["warning"]),
        ("kdiag find-coordinator --wat", ["--watch"]),
        ("kdiag request Metadata --to coor", ["coordinator:"]),
        ("kdiag help exit", ["exit-codes"]),
        ("kdiag config s", ["show"]),
        ("kdiag decode --api DescribeQ", ["DescribeQuorum"]),
    ],
)
def test_bash_and_fish_complete_what_kdiag_knows(
    bash: Complete, fish: Complete, line: str, offered: list[str]
) -> None:
    """Commands, options, their values and arguments, through commands that load late."""
    assert bash(line) == offered
    assert fish(line) == offered


@pytest.mark.thorough
def test_fish_completes_sql_between_quotes(fish: Complete) -> None:
    """The rest of the question stays."""
    assert fish("kdiag query a.pcap 'SELECT correl") == ["SELECT correlation_id"]


@pytest.mark.thorough
def test_bash_completes_sql_between_quotes(environment: dict[str, str]) -> None:
    """What stands there already is not quoted once more."""
    quoted = BASH.replace(
        "COMP_POINT=${#1}", 'COMP_POINT=${#1} COMP_CWORD=1 COMP_WORDS=(kdiag "\'")'
    )
    line = "kdiag query a.pcap 'SELECT correl"
    command = [need("bash"), "--norc", "-c", quoted, "bash", line]

    assert completed(command, environment) == ["SELECT correlation_id"]


@pytest.mark.thorough
def test_bash_completes_the_groups_of_the_cluster(bash: Complete, cluster: ScriptedCluster) -> None:
    """Its address has a colon, which bash takes for the end of a word; names are quoted."""
    line = f"kdiag find-coordinator -b {cluster.bootstrap} "
    assert bash(line) == [r"\$\(touch\ harm\)", "orders", "payments"]
    assert bash(f"{line}pay") == ["payments"]
    assert bash(f"{line}--group=pay") == ["payments"]
    assert bash(f"kdiag request -b {cluster.bootstrap} X --to coordinator:pa") == ["payments"]


@pytest.mark.thorough
def test_bash_completes_the_topics_of_the_cluster(bash: Complete, cluster: ScriptedCluster) -> None:
    """For whoever follows them."""
    cluster.topics = [MetadataResponseTopic(name=name) for name in ("clicks", "carts")]
    assert bash(f"kdiag tail -b {cluster.bootstrap} c") == ["carts", "clicks"]
    assert bash(f"kdiag tail -b {cluster.bootstrap} -t cl") == ["clicks"]


@pytest.mark.thorough
def test_fish_completes_the_groups_of_the_cluster(fish: Complete, cluster: ScriptedCluster) -> None:
    """A word with the option in it is replaced as a whole."""
    line = f"kdiag find-coordinator -b {cluster.bootstrap} "
    assert fish(line) == ["$(touch harm)", "orders", "payments"]
    assert fish(f"{line}--group=pay") == ["--group=payments"]


@pytest.mark.thorough
def test_files_are_completed_where_files_are_meant(fish: Complete, tmp_path: Path) -> None:
    """Bash does that by itself (`-o default`)."""
    (tmp_path / "traffic.pcap").touch()
    assert fish("kdiag decode traf") == ["traffic.pcap"]
    assert "complete -o default" in (SCRIPTS / "kdiag.bash").read_text()


@pytest.mark.thorough
def test_zsh_completes_on_a_terminal(
    environment: dict[str, str], tmp_path: Path, cluster: ScriptedCluster
) -> None:
    """What kdiag knows and what the cluster knows; nothing in a name is run."""
    ours, its = pty.openpty()
    command = [need("zsh"), "-f", "-i"]
    with ChildProgram(
        command,
        stdin=its,
        stdout=its,
        stderr=its,
        env=environment,
        cwd=tmp_path,
        start_new_session=True,
    ) as shell:
        os.close(its)
        try:
            os.write(ours, ZSH.encode())
            read_until(ours, "\nready")
            for typed, shown in (
                ("kdiag errcode NOT_COORD\t", "NOT_COORDINATOR "),
                (f"kdiag find-coordinator -b {cluster.bootstrap} pay\t", "payments "),
                (f"kdiag find-coordinator -b {cluster.bootstrap} --group=pay\t", "=payments "),
                (f"kdiag find-coordinator -b {cluster.bootstrap} '$(t\t", "harm)' "),
                ("kdiag request Metadata --to lea\t", "leader:"),
            ):
                os.write(ours, f"\x15{typed}".encode())
                read_until(ours, shown)
        finally:
            shell.kill()
            os.close(ours)
    assert not (tmp_path / "harm").exists()


@pytest.mark.thorough
def test_nothing_is_offered_when_the_cluster_is_silent(bash: Complete) -> None:
    """And nothing is said: somebody is typing."""
    assert bash("kdiag find-coordinator -b localhost:1 ord") == [""]
    assert bash("kdiag find-coordinator ord") == [""]
