"""What is offered, without a shell."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import typer
from typer.main import get_command

from client_ends.client_peers import full_server
from kdiag.clock import SystemClock
from kdiag.wire.api.list_groups import ListedGroup, ListGroupsResponse
from kdiag.wire.api.metadata import MetadataResponsePartition, MetadataResponseTopic
from kdiag_cli.app import app
from kdiag_cli.options.completion import (
    complete_apis,
    complete_destinations,
    complete_groups,
    complete_topics,
)
from scripted_kafka.scripted_broker import HOLD
from scripted_kafka.scripted_cluster import ScriptedCluster
from tiers.cases import for_each

PARTITIONS = [MetadataResponsePartition(partition_index=each, leader_id=1) for each in range(2)]


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Two brokers; each coordinates a group."""
    with ScriptedCluster(2) as cluster:
        cluster.topics = [
            MetadataResponseTopic(name=name, partitions=PARTITIONS)
            for name in ("orders", "__consumer_offsets")
        ]
        for number, group in ((1, "shipping"), (2, "billing")):
            told = ListedGroup(group, "consumer", "Stable" if number == 1 else "", "Consumer")
            answer = ListGroupsResponse(groups=[told, ListedGroup("a\nb")])
            cluster.brokers[number].on("ListGroups", answer)
        yield cluster


@contextmanager
def typed(**params: Any) -> Iterator[typer.Context]:
    """Yield the context of a command whose options were given so."""
    context = typer.Context(get_command(app))
    context.params = params
    yield context


def test_groups_are_those_of_all_brokers(cluster: ScriptedCluster) -> None:
    """Sorted, with type and state; names that no line can hold are left out."""
    with typed(bootstrap_server=[cluster.bootstrap]) as context:
        assert complete_groups(context) == [
            ("billing", "consumer"),
            ("shipping", "consumer Stable"),
        ]


def test_topics_are_offered_without_kafkas_own(cluster: ScriptedCluster) -> None:
    """Unless an underscore shows that those are meant."""
    with typed(bootstrap_server=[cluster.bootstrap]) as context:
        assert complete_topics(context, "o") == ["orders"]
        assert "__consumer_offsets" in complete_topics(context, "_")


@for_each(
    ("incomplete", "offered"),
    [
        ("", ["any", "all", "controller", "bootstrap", "coordinator:", "leader:"]),
        ("2", ["1", "2"]),
        ("coordinator:b", ["coordinator:billing", "coordinator:shipping"]),
        ("leader:", ["leader:orders:"]),
        ("leader:orders:", ["leader:orders:0", "leader:orders:1"]),
        ("leader:nope:", []),
    ],
)
def test_destinations_are_completed_piece_by_piece(
    cluster: ScriptedCluster, incomplete: str, offered: list[str]
) -> None:
    """The shell keeps those that begin as what is typed."""
    with typed(properties=[f"bootstrap.servers={cluster.bootstrap}"]) as context:
        assert complete_destinations(context, incomplete) == offered


def test_the_environment_may_name_the_cluster(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for the commands themselves."""
    monkeypatch.setenv("KDIAG_BOOTSTRAP_SERVERS", cluster.bootstrap)
    with typed() as context:
        assert [name for name, _ in complete_groups(context)] == ["billing", "shipping"]


@pytest.mark.thorough
def test_a_cluster_that_does_not_answer_costs_a_second() -> None:
    """Neither a broker that is silent nor one that drops packets holds the shell up."""
    clock = SystemClock()
    with ScriptedCluster(1) as silent, full_server() as full:
        silent.on("Metadata", HOLD)
        for server in (silent.bootstrap, f"127.0.0.1:{full}"):
            began_ns = clock.monotonic_ns()
            with typed(bootstrap_server=[server]) as context:
                assert complete_groups(context) == []
            assert clock.monotonic_ns() - began_ns < 5_000_000_000, "other limits are longer"


def test_apis_come_with_their_versions() -> None:
    """For shells that show what a name means."""
    assert ("Fetch", "versions 0-18") in complete_apis()
