import socket

import pytest

from kdiag.net.address import Address, host_and_port


@pytest.mark.parametrize(
    ("host", "text"),
    [("broker", "broker:9092"), ("10.0.0.1", "10.0.0.1:9092"), ("::1", "[::1]:9092")],
)
def test_ipv6_is_written_in_brackets(host: str, text: str) -> None:
    """Otherwise nobody could tell where the port begins."""
    assert host_and_port(host, 9092) == text
    assert Address(host, 9092, "127.0.0.1", socket.AF_INET).peer == text
