import socket
from threading import Event

from kdiag.clock import SystemClock
from kdiag.errors import ConnectError, Fault, Layer
from kdiag.net.address import Address
from kdiag.net.lookups import look_up_all
from kdiag.net.resolve import resolve

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
