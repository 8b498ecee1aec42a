from kdiag.client.network.node import Node


def test_an_endpoint_has_brackets_around_ipv6() -> None:
    """Otherwise the port could not be told from the address."""
    assert Node("1", "kafka.example", 9092).endpoint == "kafka.example:9092"
    assert Node("1", "::1", 9092).endpoint == "[::1]:9092"
