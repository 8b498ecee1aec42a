"""Addresses as numbers: an endpoint is one 64-bit value, this book turns it back into text."""

from ipaddress import IPv4Address, IPv6Address

import numpy as np
import numpy.typing as npt

_FIRST_NUMBER = 1 << 32
_IPV4_BYTES, _IPV6_BYTES = 4, 16

_NETWORK_BYTES = 8
_MAX_TEXTS = 10_000


class AddressBook:
    """The addresses of one run that are not numbers themselves, in the order of their packets.

    An IPv4 address is its own number, below 2**32; from 2**32 on follow IPv6 addresses, and those
    that are told apart by the network they were seen in. An endpoint is `(number << 16) | port`.

    As bytes, an address is 4 or 16 long, with 8 bytes of its network in front if it has one.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._in_order: list[bytes] = []
        self._texts: dict[int, str] = {}

    def number_ipv6(self, addresses: npt.NDArray[np.void]) -> npt.NDArray[np.uint64]:
        """Return the number of each address, given as 16 bytes each, and remember new ones."""
        known = self._numbers
        numbers = [known.get(each) or self._new_number(each) for each in addresses.tolist()]
        return np.array(numbers, np.uint64)

    def number_within(
        self, networks: npt.NDArray[np.int64], numbers: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.uint64]:
        """Return the number of each address in its network; in network 0 that is its own."""
        pairs = zip(networks.tolist(), numbers.tolist(), strict=True)
        found = (self._within(network, number) if network else number for network, number in pairs)
        return np.fromiter(found, np.uint64, len(numbers))

    def number_of(self, address: bytes) -> int:
        """Return the number of an address, given as `address_bytes` returns it."""
        return (
            int.from_bytes(address, "big")
            if len(address) == _IPV4_BYTES
            else self._numbers.get(address) or self._new_number(address)
        )

    def address_bytes(self, endpoint: int) -> bytes:
        """Return the address of an endpoint as bytes, which mean the same in every run."""
        number = endpoint >> 16
        if number < _FIRST_NUMBER:
            return number.to_bytes(_IPV4_BYTES, "big")
        return self._in_order[number - _FIRST_NUMBER]

    def address_text(self, endpoint: int) -> str:
        """Return the address of an endpoint: `10.0.0.1`, `fe80::1`; no word of its network."""
        address = self.address_bytes(endpoint)
        if len(address) in {_IPV4_BYTES, _NETWORK_BYTES + _IPV4_BYTES}:
            return str(IPv4Address(address[-_IPV4_BYTES:]))
        return str(IPv6Address(address[-_IPV6_BYTES:]))

    def _within(self, network: int, number: int) -> int:
        address = network.to_bytes(_NETWORK_BYTES, "big") + self.address_bytes(number << 16)
        return self._numbers.get(address) or self._new_number(address)

    def _new_number(self, address: bytes) -> int:
        number = self._numbers[address] = _FIRST_NUMBER + len(self._in_order)
        self._in_order.append(address)
        return number

    def endpoint_text(self, endpoint: int) -> str:
        """Return an endpoint as `ip:port`, an IPv6 address in brackets and in its short form."""
        number = endpoint >> 16
        host = self._texts.get(number)
        if host is None:
            address = self.address_text(endpoint)
            host = f"[{address}]" if ":" in address else address
            if len(self._texts) < _MAX_TEXTS:
                self._texts[number] = host
        return f"{host}:{endpoint & 0xFFFF}"
