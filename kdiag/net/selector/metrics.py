"""Selector metrics: plain counters of a selector's work.

Source: Kafka's `Selector.SelectorMetrics`.
"""

import msgspec


class SelectorMetrics(msgspec.Struct):
    """Counters of one selector; only `connections_by_client` goes down again.

    Attributes:
        connections_created: connects that succeeded, and sockets that were registered.
        connections_closed: channels that ended, for whatever reason, connected or not.
        bytes_sent: with length prefixes, of partial sends too; without handshakes.
        bytes_received: likewise.
        sends: frames that were completed.
        receives: likewise.
        select_count: how often the operating system was asked what is ready.
        authentications: channels that became ready by a handshake or an authenticator.
        reauthentications: times that one became ready again.
        failed_authentications: channels of which one end refused the other.
        connections_by_client: (name, version) of client software -> open channels.
    """

    connections_created: int = 0
    connections_closed: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    sends: int = 0
    receives: int = 0
    select_count: int = 0
    authentications: int = 0
    reauthentications: int = 0
    failed_authentications: int = 0
    connections_by_client: dict[tuple[str, str], int] = {}

    def add_client(self, software: tuple[str, str]) -> None:
        """Count a channel of a client software."""
        count = self.connections_by_client.get(software, 0)
        self.connections_by_client[software] = count + 1

    def remove_client(self, software: tuple[str, str] | None) -> None:
        """Count a channel of a client software no longer; None is of none."""
        if software is None:
            return
        self.connections_by_client[software] -= 1
        if not self.connections_by_client[software]:
            del self.connections_by_client[software]
