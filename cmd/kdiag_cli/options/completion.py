"""The names that a shell may complete: APIs, and the groups, topics and brokers of a cluster.

The cluster is the one that the command line, the environment or the profile names. It has a second
to answer; whatever goes wrong, nothing is completed.
"""

from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import typer

from kdiag.clock import NS_PER_S, SystemClock
from kdiag.errors import KdiagError
from kdiag.wire.catalog import APIS
from kdiag_cli.options.live import LiveOptions, client_config

if TYPE_CHECKING:  # the client itself is loaded when somebody presses the key
    from collections.abc import Callable, Iterable

    from kdiag.client.cluster_client import ClusterClient

LIMIT_S: Final = 1.0
"""How long a cluster may take, with the look-up of its names."""


def complete_groups(ctx: typer.Context) -> list[tuple[str, str]]:
    """Return the groups of the cluster, with their types and states."""
    about: dict[str, str] = {}

    def ask(client: "ClusterClient") -> dict[str, str]:
        about.update(_list_groups(client))
        return about

    return [(name, about[name]) for name in _asked(ctx, ask)]


def complete_topics(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the topics of the cluster; Kafka's own only after an underscore."""
    named = _asked(ctx, lambda client: client.refresh(None).topics)
    return [each for each in named if incomplete.startswith("_") or not each.startswith("__")]


def complete_destinations(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the destinations of a request."""
    way, _, name = incomplete.partition(":")
    if incomplete.isdecimal():
        return _asked(ctx, lambda client: (str(each.id) for each in client.brokers))
    if way == "coordinator" and incomplete != way:
        return [f"coordinator:{each}" for each in _asked(ctx, _list_groups)]
    if way != "leader" or incomplete == way:
        return ["any", "all", "controller", "bootstrap", "coordinator:", "leader:"]
    topic, colon, _ = name.rpartition(":")
    if not colon:
        return [f"leader:{each}:" for each in complete_topics(ctx, name)]
    return _asked(ctx, lambda client: _leaders(client, topic))


def complete_apis() -> list[tuple[str, str]]:
    """Return the APIs with their versions."""
    return [(each.name, f"versions {each.versions}") for each in APIS]


def _list_groups(client: "ClusterClient") -> dict[str, str]:
    """Return the type and state of each group."""
    from kdiag.probe.groups.listing import list_groups  # noqa: PLC0415 - with the client: 50 ms

    groups = list_groups(client).groups
    return {name: f"{each.type} {each.state}".rstrip() for name, each in groups.items()}


def _leaders(client: "ClusterClient", topic: str) -> list[str]:
    known = client.refresh([topic]).topics.get(topic)
    partitions = known.partitions if known else ()
    return [f"leader:{topic}:{each.partition_index}" for each in partitions]


def _asked(ctx: typer.Context, ask: "Callable[[ClusterClient], Iterable[str]]") -> list[str]:
    """Return names from the cluster, sorted; none if it does not answer in time."""
    from kdiag.client.configured_client import configured_client  # noqa: PLC0415 - 50 ms that --help spares

    names: list[str] = []
    clock = SystemClock()

    def ask_cluster() -> None:
        with (
            suppress(KdiagError),
            configured_client(client_config(_options(ctx.params), can_ask=False), clock) as client,
        ):
            client.deadline_ns = clock.monotonic_ns() + round(LIMIT_S * NS_PER_S)
            client.connect()
            names.extend(ask(client))

    # A thread can be abandoned even while the C library looks up a name; a signal would wait.
    thread = Thread(target=ask_cluster, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    return sorted({each for each in names if each.isprintable()})


def _options(params: dict[str, Any]) -> LiveOptions:
    """Return the live options of a half-typed command line."""
    return LiveOptions(
        bootstrap_servers=params.get("bootstrap_server"),
        properties=params.get("properties"),
        config_file=params.get("config"),
        profile=params.get("profile"),
        password_file=params.get("password_file"),
        allow_programs=params.get("allow_programs", False),
        as_version=params.get("as_version"),
    )
