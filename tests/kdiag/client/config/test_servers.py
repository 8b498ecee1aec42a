import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.client.config.servers import BootstrapServer, parse_bootstrap_server
from tiers.cases import for_each


@for_each(
    ("text", "expected"),
    [
        ("kafka1:9093", ("kafka1", 9093)),
        ("kafka1", ("kafka1", 9092)),
        ("10.0.0.7:1", ("10.0.0.7", 1)),
        ("my_host.example.com.:65535", ("my_host.example.com.", 65535)),
        ("[::1]:9093", ("::1", 9093)),
        ("[fe80::1%eth0]:9093", ("fe80::1%eth0", 9093)),
        ("[2001:db8::7]", ("2001:db8::7", 9092)),
        ("::1", ("::1", 9092)),
        ("2001:db8::7", ("2001:db8::7", 9092)),
        ("SSL://kafka1:9093", ("kafka1", 9093)),
        ("ssl://[::1]:9093/", ("::1", 9093)),
        ("bücher.example:9092", ("bücher.example", 9092)),
    ],
)
def test_a_server_is_written_in_many_ways(text: str, expected: tuple[str, int]) -> None:
    """The port is 9092 unless it is given; an IPv6 address needs brackets only before a port."""
    assert expected == parse_bootstrap_server(text, "SSL")


@for_each(
    "text",
    [
        "",
        ":9092",
        "kafka1:",
        "kafka1:x",
        "kafka1:99999",
        "kafka1:0",
        "a b:1",
        "a:1:2:z",
        "[::1",
        "user@kafka1:9092",
        "http://kafka1:9092",
        "SASL_SSL://kafka1:9092",
        "kafka1:9092/path",
        "kafka1:123456",
        "[kafka1]:9092",
    ],
)
def test_what_is_no_server_is_refused_with_its_text(text: str) -> None:
    """The message quotes what was written."""
    with pytest.raises(ValueError, match=r"expected|contradicts") as error:
        parse_bootstrap_server(text, "SSL")
    assert repr(text) in str(error.value)


@given(
    st.from_regex(r"[a-z0-9.-]{1,20}|[0-9a-f]{1,4}::[0-9a-f]{1,4}", fullmatch=True),
    st.integers(1, 65535),
)
def test_a_server_that_is_written_is_read_again(host: str, port: int) -> None:
    """`str` gives the form that everybody understands."""
    server = BootstrapServer(host, port)
    assert server == parse_bootstrap_server(str(server), "PLAINTEXT")
