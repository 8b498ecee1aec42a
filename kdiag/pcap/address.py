"""Addresses as numbers: an endpoint is one 64-bit value, this book turns it back into text."""

from ipaddress import IPv4Address, IPv6Address

import numpy as np
import numpy.typing as npt

_FIRST_IPV6 = 1 << 32


class AddressBook:
    """The IPv6 addresses of one run, numbered in the order of their first packets.

    An IPv4 address is its own number, below 2**32; the IPv6 addresses follow from 2**32 on. An
    endpoint is `(number << 16) | port`.
    """

    def __init__(self) -> None:
        self._numbers = _Numbers()

    def number_ipv6(self, addresses: npt.NDArray[np.void]) -> npt.NDArray[np.uint64]:
        """Return the number of each address, given as 16 bytes each, and remember new ones."""
        numbers = map(self._numbers.__getitem__, addresses.tolist())
        return np.fromiter(numbers, np.uint64, len(addresses))

    def address_text(self, endpoint: int) -> str:
        """Return the address of an endpoint: `10.0.0.1`, `fe80::1`."""
        number = endpoint >> 16
        if number < _FIRST_IPV6:
            return str(IPv4Address(number))
        return str(IPv6Address(self._numbers.in_order[number - _FIRST_IPV6]))

    def endpoint_text(self, endpoint: int) -> str:
        """Return an endpoint as `ip:port`, an IPv6 address in brackets and in its short form."""
        address = self.address_text(endpoint)
        port = endpoint & 0xFFFF
        return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


class _Numbers(dict[bytes, int]):
    """Numbers by address; looking up an unknown address gives it the next number."""

    def __init__(self) -> None:
        super().__init__()
        self.in_order: list[bytes] = []

    def __missing__(self, address: bytes) -> int:
        number = self[address] = _FIRST_IPV6 + len(self.in_order)
        self.in_order.append(address)
        return number
