"""The options that commands have which read captures."""

import typer
from typer.testing import CliRunner

from kdiag_cli.options.captures import KeyLogs, NoBodies, Ports, TopicIds, WithRecords

given: list[object] = []


def command(
    *,
    port: Ports = None,
    topic_ids: TopicIds = None,
    keylog: KeyLogs = None,
    values: WithRecords = False,
    no_bodies: NoBodies = False,
) -> None:
    """Take them all."""
    given[:] = [port, str(topic_ids), list(map(str, keylog or [])), values, no_bodies]


def run(*arguments: str) -> int:
    """Run the command and return its exit code."""
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, arguments).exit_code


def test_each_has_the_same_name_in_every_command() -> None:
    """Ports and key logs may be several."""
    flags = "--port 9092 --port 9093 --topic-ids ids --keylog a --keylog b --values --no-bodies"
    assert run(*flags.split()) == 0
    assert given == [[9092, 9093], "ids", ["a", "b"], True, True]


def test_a_port_that_is_none_is_refused() -> None:
    """Ports are from 1 to 65535."""
    assert run("--port", "0") == 2
    assert run("--port", "65536") == 2
