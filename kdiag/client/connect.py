"""A connection to a cluster for programs: settings in, a client that knows its cluster out.

with connect("localhost:9092", {"client.id": "me"}) as cluster:
    answer = cluster.ask_any(ListGroupsRequest(), ListGroupsResponse)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from warnings import warn

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.config.sources import Setting, settings_of
from kdiag.client.configured_client import configured_client
from kdiag.clock import SystemClock
from kdiag.errors import ConfigError, KdiagError

_ORIGIN: Final = "kdiag.connect"
_BOOTSTRAP: Final = "bootstrap.servers"


def connect(
    bootstrap_servers: str = "",
    settings: Mapping[str, str] | None = None,
    *,
    config_file: Path | str | None = None,
    timeout_ns: int | None = None,
    allows_programs: bool = False,
) -> ClusterClient:
    """Return a client that is connected and knows the brokers; close it, or use it in a `with`.

    The environment counts nothing: what is not given has Kafka's default. Likely mistakes, such as
    unknown settings, become Python's warnings.

    Args:
        bootstrap_servers: `host:port` of brokers, with commas; or else they are in the settings.
        settings: by the names that Kafka's Java clients or librdkafka have for them.
        config_file: Java's `client.properties`, or librdkafka's settings if it ends in `.conf`.
        timeout_ns: how long this, and everything that is asked afterwards, may take in all.
        allows_programs: whether the file may start programs, and read other files.

    Raises:
        ConfigError: if a setting is wrong, or the file cannot be read.
        ConnectError: the most telling of all if no broker answers.
    """
    given = [
        each
        for name, value in (settings or {}).items()
        for each in settings_of(name, value, _ORIGIN)
    ]
    if bootstrap_servers:
        given.append(Setting(_BOOTSTRAP, bootstrap_servers, _ORIGIN, _BOOTSTRAP))
    file = None if config_file is None else str(config_file)
    config = load_config(ConfigSources(options=given, file=file, allows_programs=allows_programs))
    if not config.bootstrap_servers:
        raise ConfigError(_BOOTSTRAP, _ORIGIN, "not set: name a broker, such as localhost:9092")
    for text in config.warnings:
        warn(text, stacklevel=2)
    clock = SystemClock()
    client = configured_client(config, clock)
    if timeout_ns is not None:
        client.deadline_ns = clock.monotonic_ns() + timeout_ns
    try:
        client.connect()
    except KdiagError:
        client.close()
        raise
    return client
