"""A client of a scenario in its thread: it connects, does its work, and ends.

What goes wrong with it is no failure of the scenario, which may be about just that: it is kept, and
told with the outcome.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from threading import Thread
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ClientConfig, ConfigSources, load_config
from kdiag.client.config.sources import Setting, settings_of
from kdiag.client.configured_client import configured_client
from kdiag.clock import NS_PER_S, Clock

STOP_NS: Final = 10 * NS_PER_S
"""How long the end of a client is waited for once it is told to end."""

_WAKE_S: Final = 0.05
_ORIGIN: Final = "scenario"
_BOOTSTRAP: Final = "bootstrap.servers"


def config_of(bootstrap: str, client_id: str, settings: Mapping[str, object] = {}) -> ClientConfig:
    """Return the configuration of a client.

    Raises:
        ConfigError: if a setting is wrong.
    """
    given = [Setting(_BOOTSTRAP, bootstrap, _ORIGIN, _BOOTSTRAP)]
    for name, value in {"client.id": client_id, **settings}.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        given += settings_of(name, text, _ORIGIN)
    return load_config(ConfigSources(options=given))


class ScenarioThread(ABC):
    """A client, which ends by itself unless it `is_lasting`.

    Attributes:
        name: its client id.
        failure: why it ended before its work was done; None if it did not.
    """

    is_lasting = False

    def __init__(self, name: str, config: ClientConfig, clock: Clock, deadline_ns: int) -> None:
        """Prepare it; `start` has it begin.

        Args:
            name: its client id.
            config: of its client.
            clock: all times are its own.
            deadline_ns: when it ends at the latest, on the monotonic clock.
        """
        self.name = name
        self.failure: str | None = None
        self.config = config
        self.clock = clock
        self.is_over = False
        self._deadline_ns = deadline_ns
        self._client: ClusterClient | None = None
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Have it begin."""
        self._thread.start()

    def stop(self) -> None:
        """Have it end, and wait for that.

        It is woken until it has: it may be about to make its client, or to wait for something else.
        """
        until_ns = self.clock.monotonic_ns() + STOP_NS
        while self._thread.is_alive() and self.clock.monotonic_ns() < until_ns:
            client = self._client
            if client is not None:
                client.deadline_ns = 0
                client.client.wakeup()
            self._thread.join(_WAKE_S)

    @abstractmethod
    def work(self, client: ClusterClient) -> None:
        """Do what it is for, with a client that is connected."""

    def _run(self) -> None:
        try:
            with configured_client(self.config, self.clock) as client:
                client.deadline_ns = self._deadline_ns
                self._client = client
                client.connect()
                self.work(client)
        except Exception as error:  # noqa: BLE001 - told with the outcome
            self.failure = f"{self.name}: {error}"
        self.is_over = True
