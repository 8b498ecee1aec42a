"""The session of a live command, on scripted brokers."""

from pathlib import Path

import pytest

from kdiag.clock import ManualClock
from kdiag.errors import ConfigError
from kdiag.exchange.model import Exchange
from kdiag_cli.live.session import asking_ns, live_session, observing
from kdiag_cli.options.live import LiveOptions
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


def test_a_command_can_see_each_exchange_beside_those_who_keep_them(tmp_path: Path) -> None:
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
