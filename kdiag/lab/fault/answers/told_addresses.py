"""The addresses of brokers that an answer tells its client.

    for told in told_addresses(response):
        told.node_id, told.host, told.port
        told.change("127.0.0.1", 9092)

Metadata, FindCoordinator and DescribeCluster tell where brokers are; so do Produce and Fetch, and
their kin for share groups, where a leader has changed.

Source: KIP-951 (leaders in Produce and Fetch), KIP-700 (DescribeCluster), KIP-932 (share groups).
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kdiag.wire import api_keys
from kdiag.wire.schema import Struct, Versions

TELLING: Final = {
    api_keys.METADATA: Versions.parse("0+"),
    api_keys.FIND_COORDINATOR: Versions.parse("0+"),
    api_keys.DESCRIBE_CLUSTER: Versions.parse("0+"),
    api_keys.PRODUCE: Versions.parse("10+"),
    api_keys.FETCH: Versions.parse("16+"),
    api_keys.SHARE_FETCH: Versions.parse("0+"),
    api_keys.SHARE_ACKNOWLEDGE: Versions.parse("0+"),
}
"""The APIs whose answers tell addresses, with the versions that do."""

_LISTS: Final = ("brokers", "coordinators", "node_endpoints")
_NOWHERE: Final = -1


class ToldAddress(NamedTuple):
    """An address in an answer.

    Attributes:
        struct: what has it.
    """

    struct: Any

    @property
    def node_id(self) -> int:
        """Return the broker."""
        name = "broker_id" if hasattr(self.struct, "broker_id") else "node_id"
        number: int = getattr(self.struct, name)
        return number

    @property
    def host(self) -> str:
        """Return the name or the address of its machine."""
        host: str = self.struct.host
        return host

    @property
    def port(self) -> int:
        """Return the port."""
        port: int = self.struct.port
        return port

    def change(self, host: str, port: int) -> None:
        """Tell another address."""
        self.struct.host, self.struct.port = host, port


def told_addresses(response: Struct) -> Iterator[ToldAddress]:
    """Return the addresses of an answer of one of the APIs above; those of no broker are left out.

    An answer that tells of an error has no address: its host is empty.
    """
    structs: list[Any] = [response] if hasattr(response, "host") else []
    for name in _LISTS:
        structs += getattr(response, name, None) or ()
    found = map(ToldAddress, structs)
    return (each for each in found if each.host and each.node_id > _NOWHERE)
