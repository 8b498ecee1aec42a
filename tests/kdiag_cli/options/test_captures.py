"""The options that commands have which read captures."""

import pytest
import typer
from typer.testing import CliRunner

from kdiag_cli.options.captures import (
    KeyLogs,
    NoBodies,
    Ports,
    TopicIds,
    WithRecords,
    read_decode_as,
)
from tiers.cases import for_each

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


def test_ports_of_udp_can_be_given_what_they_carry() -> None:
    """The same choice twice is as good as once."""
    assert read_decode_as(None) == {}
    choices = ["udp:8473=vxlan", "udp:7=vxlan-gpe", "udp:8473=vxlan", "udp:65535=gtpu"]
    assert read_decode_as(choices) == {8473: "vxlan", 7: "vxlan-gpe", 65535: "gtpu"}


@for_each(
    ("choices", "why"),
    [
        (["tcp:8473=vxlan"], "'tcp:8473=vxlan' is not udp:PORT=NAME"),
        (["udp:0=vxlan"], "is not udp:PORT=NAME"),
        (["udp:65536=vxlan"], "is not udp:PORT=NAME"),
        (["udp:1=vxlan,gre"], "is not udp:PORT=NAME"),
        (["vxlan"], "such as udp:8473=vxlan"),
        (["udp:1=vxlam"], "there are geneve, gre, gtpu, mpls, vxlan, vxlan-gpe"),
        (["udp:1=vxlan", "udp:1=gre"], "UDP port 1 cannot be both vxlan and gre"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(choices: list[str], why: str) -> None:
    """One line says what is wrong with it."""
    with pytest.raises(typer.BadParameter, match=why) as error:
        read_decode_as(choices)
    assert len(str(error.value).splitlines()) == 1
