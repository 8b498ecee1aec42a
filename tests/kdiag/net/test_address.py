import socket
from threading import Event

import pytest

from kdiag.clock import SystemClock
from kdiag.errors import ConnectError, Fault, Layer
from kdiag.net.address import Address, DnsLookup, _unresolved, host_and_port, look_up_all, resolve
from tiers.cases import for_each


@pytest.mark.parametrize(
    ("host", "text"),
    [("broker", "broker:9092"), ("10.0.0.1", "10.0.0.1:9092"), ("::1", "[::1]:9092")],
)
def test_ipv6_is_written_in_brackets(host: str, text: str) -> None:
    """Otherwise nobody could tell where the port begins."""
    assert host_and_port(host, 9092) == text
    assert Address(host, 9092, "127.0.0.1", socket.AF_INET).peer == text


@pytest.mark.parametrize(
    ("host", "ip", "family"),
    [
        ("127.0.0.1", "127.0.0.1", socket.AF_INET),
        ("::1", "::1", socket.AF_INET6),
        ("[::1]", "::1", socket.AF_INET6),
    ],
)
def test_a_literal_is_its_own_address(host: str, ip: str, family: int) -> None:
    """IPv6 may be in brackets, which are not part of it."""
    (address,) = resolve(host, 9092)

    assert address == (host.strip("[]"), 9092, ip, family)


def test_a_name_has_every_address_once() -> None:
    """Each keeps the name that was asked for."""
    addresses = resolve("localhost", 9092)

    assert {address.ip for address in addresses} & {"127.0.0.1", "::1"}
    assert len(set(addresses)) == len(addresses)
    assert {(address.host, address.port) for address in addresses} == {("localhost", 9092)}


def test_canonical_names_are_those_of_the_addresses() -> None:
    """Each address is asked for its name, and that name for its addresses."""
    name = socket.gethostbyaddr("127.0.0.1")[0]
    lookup = DnsLookup.RESOLVE_CANONICAL_BOOTSTRAP_SERVERS_ONLY
    addresses = resolve("127.0.0.1", 9092, lookup)

    assert addresses == resolve(name, 9092)
    assert {address.host for address in addresses} == {name}


def test_an_address_without_a_name_stands_for_itself() -> None:
    """Where reverse lookup fails, the literal is used."""
    nameless = "203.0.113.77"
    lookup = DnsLookup.RESOLVE_CANONICAL_BOOTSTRAP_SERVERS_ONLY
    assert [address.host for address in resolve(nameless, 9092, lookup)] == [nameless]


def test_an_unknown_name_fails_in_the_layer_dns() -> None:
    """The error names host and port, and says how to look closer."""
    with pytest.raises(ConnectError) as caught:
        resolve("no-such-broker.invalid", 9092)
    error = caught.value

    assert (error.address, error.layer) == ("no-such-broker.invalid:9092", Layer.DNS)
    assert "no-such-broker.invalid" in error.why
    assert "getent hosts no-such-broker.invalid" in error.fix


@pytest.mark.parametrize(
    ("host", "number", "why", "fix"),
    [
        ("a.test", socket.EAI_NONAME, "no address is known for a.test", "Check the spelling, or"),
        ("broker-1", socket.EAI_NONAME, "no address is known for broker-1", "Kubernetes"),
        ("a.test", socket.EAI_AGAIN, "no name server could be asked for a.test", "the network"),
    ],
)
def test_a_failed_lookup_is_of_the_name_or_of_the_name_servers(
    host: str, number: int, why: str, fix: str
) -> None:
    """A name without a dot may be one that only containers know."""
    error = _unresolved(host, 9092, number, "what the system says")

    assert (error.layer, error.address) == (Layer.DNS, f"{host}:9092")
    assert error.why.startswith(why)
    assert "what the system says" in error.why
    assert fix in error.fix


@for_each("host", ["", "[]", "a" * 64 + ".example", "nul\0byte", "a..b"])
def test_what_is_no_host_name_is_refused(host: str) -> None:
    """An empty name is not this machine."""
    with pytest.raises(ConnectError) as caught:
        resolve(host, 9092)

    assert caught.value.layer is Layer.DNS
    assert caught.value.fix


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_a_port_that_does_not_exist_is_refused(port: int) -> None:
    """A broker may advertise one."""
    with pytest.raises(ConnectError, match=f"port {port} is not from 1 to 65535") as caught:
        resolve("127.0.0.1", port)

    assert caught.value.layer is Layer.TCP


def test_the_lookup_modes_are_those_of_the_setting() -> None:
    """`client.dns.lookup` has two values since Kafka 3.0."""
    assert [str(mode) for mode in DnsLookup] == [
        "use_all_dns_ips",
        "resolve_canonical_bootstrap_servers_only",
    ]


S_NS = 1_000_000_000
CLOCK = SystemClock()


def test_every_name_has_its_addresses_or_the_reason_why_not() -> None:
    """In the order in which they were given, each once."""
    endpoints = [("127.0.0.1", 1), ("", 2), ("::1", 3), ("127.0.0.1", 1)]

    found = look_up_all(endpoints, resolve, CLOCK, 10 * S_NS)

    assert list(found) == endpoints[:3]
    assert found["127.0.0.1", 1].addresses == [Address("127.0.0.1", 1, "127.0.0.1", socket.AF_INET)]
    assert found["::1", 3].error is None
    error = found["", 2].error
    assert error is not None
    assert (error.layer, error.fault) == (Layer.DNS, Fault.UNRESOLVED)
    assert all(lookup.took_ns >= 0 for lookup in found.values())


def test_names_are_looked_up_at_the_same_time() -> None:
    """A slow one keeps nobody waiting: here each waits for the other."""
    events = {"a": Event(), "b": Event()}

    def meet(host: str, port: int) -> list[Address]:
        events[host].set()
        assert all(event.wait(10) for event in events.values())
        return [Address(host, port, "192.0.2.1", socket.AF_INET)]

    found = look_up_all([("a", 1), ("b", 1)], meet, CLOCK, 10 * S_NS)

    assert all(lookup.addresses for lookup in found.values())


def test_a_name_that_takes_too_long_has_no_name_server() -> None:
    """It is left behind when its time is up; the others count."""
    never = Event()

    def hang(host: str, port: int) -> list[Address]:
        if host == "slow":
            never.wait(10)
        return resolve("127.0.0.1", port)

    found = look_up_all([("slow", 1), ("fast", 1)], hang, CLOCK, S_NS // 20)
    never.set()

    assert found["fast", 1].error is None
    error = found["slow", 1].error
    assert isinstance(error, ConnectError)
    assert error.fault is Fault.NO_NAME_SERVER
    assert error.why == "no name server has answered for slow within 0.05 s"
    assert found["slow", 1].took_ns == S_NS // 20
