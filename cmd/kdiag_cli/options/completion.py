"""What a shell may complete: names that kdiag knows, and names that a cluster has.

A cluster is asked where the command line, the environment or the profile names one. It has a second
to answer, and whatever goes wrong means only that nothing is completed.
"""

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import typer

from kdiag.clock import NS_PER_S

if TYPE_CHECKING:  # nothing here is loaded until somebody presses the key
    from collections.abc import Callable, Iterable

    from kdiag.client.cluster_client import ClusterClient
    from kdiag_cli.options.live import LiveOptions

LIMIT_S: Final = 1.0
"""How long a cluster may take, with the look-up of its names."""


def groups(ctx: typer.Context) -> list[str]:
    """Return the groups of the cluster."""
    return _asked(ctx, _list_groups)


def topics(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the topics of the cluster; Kafka's own only when they are meant."""
    named = _asked(ctx, lambda client: client.refresh(None).topics)
    return [each for each in named if incomplete.startswith("_") or not each.startswith("__")]


def destinations(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return where a request can go."""
    way, _, name = incomplete.partition(":")
    if incomplete.isdecimal():
        return _asked(ctx, lambda client: (str(each.id) for each in client.brokers))
    if way == "coordinator" and incomplete != way:
        return [f"coordinator:{each}" for each in groups(ctx)]
    if way != "leader" or incomplete == way:
        return ["any", "all", "controller", "bootstrap", "coordinator:", "leader:"]
    topic, colon, _ = name.rpartition(":")
    if not colon:
        return [f"leader:{each}:" for each in topics(ctx, name)]
    return _asked(ctx, lambda client: _leaders(client, topic))


def apis() -> list[tuple[str, str]]:
    """Return the APIs with their versions."""
    from kdiag.wire.catalog import APIS  # noqa: PLC0415 - as above

    return [(each.name, f"versions {each.versions}") for each in APIS]


def errors() -> list[tuple[str, str]]:
    """Return the names of errors with their meaning."""
    from kdiag.diagnosis.error_codes.catalog import KNOWN_ERRORS  # noqa: PLC0415 - as above

    return [(each.name, each.meaning) for each in KNOWN_ERRORS]


def help_topics() -> list[tuple[str, str]]:
    """Return the topics of the help, and the findings."""
    from kdiag.findings.finding import RULES  # noqa: PLC0415 - as above
    from kdiag_cli.commands.help.command import topic_titles  # noqa: PLC0415 - as above

    findings = ((key, rule.title) for key, rule in RULES.items())
    return [*topic_titles().items(), *findings]


def profiles() -> list[str]:
    """Return the profiles of the configuration."""
    from kdiag.client.config.profiles import (  # noqa: PLC0415 - as above
        profile_names,
        profiles_file,
    )
    from kdiag.errors import KdiagError  # noqa: PLC0415 - as above

    with suppress(KdiagError):
        return profile_names(profiles_file(os.environ))
    return []


def _list_groups(client: "ClusterClient") -> list[str]:
    from kdiag.wire.api.list_groups import (  # noqa: PLC0415 - as above
        ListGroupsRequest,
        ListGroupsResponse,
    )

    questions = {each.id: ListGroupsRequest() for each in client.brokers}
    answers = client.ask_all(questions, ListGroupsResponse).values()
    bodies = (each.body for each in answers if each.body is not None)
    return [group.group_id for body in bodies for group in body.groups]


def _leaders(client: "ClusterClient", topic: str) -> list[str]:
    known = client.refresh([topic]).topics.get(topic)
    partitions = known.partitions if known else ()
    return [f"leader:{topic}:{each.partition_index}" for each in partitions]


def _asked(ctx: typer.Context, ask: "Callable[[ClusterClient], Iterable[str]]") -> list[str]:
    """Return the names that a cluster has, sorted; none if it does not answer in time."""
    from threading import Thread  # noqa: PLC0415 - as above

    from kdiag.client.configured_client import configured_client  # noqa: PLC0415 - as above
    from kdiag.clock import SystemClock  # noqa: PLC0415 - as above
    from kdiag.errors import KdiagError  # noqa: PLC0415 - as above
    from kdiag_cli.options.live import client_config  # noqa: PLC0415 - as above

    names: list[str] = []
    clock = SystemClock()

    def take() -> None:
        with (
            suppress(KdiagError),
            configured_client(client_config(_options(ctx.params)), clock) as client,
        ):
            client.deadline_ns = clock.monotonic_ns() + round(LIMIT_S * NS_PER_S)
            client.connect()
            names.extend(ask(client))

    # A thread can be left behind also while the C library looks up a name; a signal would wait.
    thread = Thread(target=take, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    return sorted({each for each in names if each.isprintable()})


def _options(params: dict[str, Any]) -> "LiveOptions":
    """Return what a half-typed command line says about the cluster."""
    from kdiag_cli.options.live import LiveOptions  # noqa: PLC0415 - as above

    return LiveOptions(
        bootstrap_servers=params.get("bootstrap_server"),
        properties=params.get("properties"),
        config_file=params.get("config"),
        profile=params.get("profile"),
        password_file=params.get("password_file"),
    )
