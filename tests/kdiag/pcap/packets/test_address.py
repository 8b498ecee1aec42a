from ipaddress import IPv6Address, ip_address

import numpy as np
import numpy.typing as npt

from kdiag.pcap.packets.address import AddressBook
from tiers.cases import for_each


def packed(*addresses: str) -> npt.NDArray[np.void]:
    """Return IPv6 addresses as they come out of a packet."""
    return np.frombuffer(b"".join(IPv6Address(text).packed for text in addresses), "V16")


def test_an_ipv4_endpoint_is_written_with_a_colon() -> None:
    """The number of an IPv4 address is the address."""
    assert AddressBook().endpoint_text((0x0A000102 << 16) | 9092) == "10.0.1.2:9092"


@for_each(
    ("address", "text"),
    [
        ("2001:db8:0:0:0:0:0:1", "[2001:db8::1]:9092"),
        ("::1", "[::1]:9092"),
        ("::", "[::]:9092"),
        ("fe80:0:0:1::", "[fe80:0:0:1::]:9092"),
    ],
)
def test_an_ipv6_endpoint_is_written_in_brackets_and_short(address: str, text: str) -> None:
    """The longest run of zeros is left out, so that the port can't be taken for a part."""
    book = AddressBook()
    number = int(book.number_ipv6(packed(address))[0])
    assert book.endpoint_text((number << 16) | 9092) == text


def test_an_address_keeps_its_number() -> None:
    """Numbers go by first appearance, start beyond IPv4, and stay over several calls."""
    book = AddressBook()
    assert (book.number_ipv6(packed("::1", "::2", "::1")) - 2**32).tolist() == [0, 1, 0]
    assert (book.number_ipv6(packed("::3", "::2")) - 2**32).tolist() == [2, 1]
    assert book.address_text((2**32 + 2) << 16) == "::3"


@for_each("text", ["10.0.0.1", "::1"])
@for_each("network", [0, 5])
def test_the_bytes_of_an_address_mean_the_same_in_another_book(text: str, network: int) -> None:
    """With its network, if it has one; the text does not tell of that."""
    book, other = AddressBook(), AddressBook()
    bare = np.array([book.number_of(ip_address(text).packed)], np.uint64)
    endpoint = int(book.number_within(np.array([network]), bare)[0]) << 16 | 9092
    there = other.number_of(book.address_bytes(endpoint)) << 16 | 9092

    assert other.address_bytes(there) == book.address_bytes(endpoint)
    assert other.address_text(there) == text
    assert (book.address_bytes(endpoint) == ip_address(text).packed) is (network == 0)
