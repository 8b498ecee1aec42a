"""The session of a live command, on scripted brokers."""

from pathlib import Path

import pytest

from client_ends.client_peers import closed_port
from kdiag.clock import ManualClock
from kdiag.errors import ConfigError
from kdiag.exchange.model import Exchange
from kdiag.probe.groups.listing import list_groups
from kdiag.wire.api.list_groups import ListedGroup, ListGroupsResponse
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker
from kdiag_cli.live.session import asking_ns, live_session, observing
from kdiag_cli.options.live import LiveOptions
from scripted_kafka.scripted_broker import ScriptedBroker
from scripted_kafka.scripted_cluster import ScriptedCluster

S = 1_000_000_000


def test_a_session_has_learnt_of_its_cluster() -> None:
    """Its deadline leaves time to print, but for those who print all along."""
    with ScriptedCluster(2) as cluster:
        options = LiveOptions([cluster.bootstrap], timeout_ns=20 * S)
        clock = ManualClock()
        began_ns = clock.monotonic_ns()
        with live_session(options, clock) as client:
            assert [each.id for each in client.brokers] == [1, 2]
            assert client.deadline_ns == began_ns + 18 * S
        with live_session(options, clock, is_endless=True) as client:
            assert client.deadline_ns == began_ns + 20 * S


def test_time_is_left_to_print() -> None:
    """A tenth, or 200 ms, or half of what there is."""
    assert [asking_ns(each * S // 10) for each in (1, 3, 10, 100)] == [
        S // 20,
        S * 3 // 20,
        S * 8 // 10,
        S * 9,
    ]


def test_a_session_may_know_the_bootstrap_servers_alone() -> None:
    """Nobody is asked anything until the command asks."""
    with ScriptedCluster(2) as cluster:
        with live_session(LiveOptions([cluster.bootstrap]), connects=False) as client:
            assert list(client.cluster.brokers) == [-1, -2]
            assert client.brokers == []
        assert [each.connections for each in cluster.brokers.values()] == [0, 0]


def test_a_command_can_see_each_exchange_beside_those_who_keep_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The capture and the command get the same."""
    keys, size = [], 0
    kept = tmp_path / "said.pcap"

    def see(exchange: Exchange) -> None:
        nonlocal size
        keys.append(exchange.api_key)
        size += exchange.request.size if exchange.request else 0

    with ScriptedCluster(1) as cluster:
        options = LiveOptions([cluster.bootstrap], write=kept)
        with live_session(options, on_exchange=see):
            pass
    assert keys == [18, 3]
    assert kept.stat().st_size > size > 0
    said = f"kdiag: wrote 2 exchanges to {kept}: kdiag decode {kept}\n"
    assert capsys.readouterr() == ("", said)


def test_nobody_listens_unless_somebody_wants_to() -> None:
    """Exchanges are not even made then."""
    with observing(LiveOptions()) as tell:
        assert tell is None


def test_without_a_server_there_is_no_session() -> None:
    """The error says how to name one."""
    with (
        pytest.raises(ConfigError, match="give -b HOST:PORT"),
        live_session(LiveOptions(properties=["bootstrap.servers="])),
    ):
        pass


def test_a_session_says_where_the_brokers_are_when_they_have_moved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A second server of `-b` answers by now, and names others; groups are listed there."""
    port = closed_port()
    with ScriptedCluster(1) as old:
        servers = [old.bootstrap, f"127.0.0.1:{port}"]
        with live_session(LiveOptions(servers)) as client, ScriptedBroker(port=port) as new:
            member = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=port)
            new.on("Metadata", MetadataResponse(brokers=[member]))
            new.on("ListGroups", ListGroupsResponse(groups=[ListedGroup("g")]))
            old.brokers[1].stop()
            assert list(list_groups(client).groups) == ["g"]
    text = "the bootstrap servers name the broker at {1} in place of {0}"
    assert capsys.readouterr().err == f"kdiag: {text.format(*servers)}\n"


def test_a_broker_that_answers_with_an_error_is_not_replaced() -> None:
    """Nor is one of two that is dead: the bootstrap servers are not asked."""
    with ScriptedCluster(2) as cluster:
        cluster.on("ListGroups", ListGroupsResponse(error_code=15))
        with live_session(LiveOptions([cluster.bootstrap])) as client:
            cluster.brokers[1].stop()
            assert list(list_groups(client).failures) == [1, 2]
        assert [len(each.asked("Metadata")) for each in cluster.brokers.values()] in (
            [1, 0],
            [0, 1],
        )
