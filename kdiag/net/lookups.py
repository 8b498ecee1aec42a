"""Lookups: many names at the same time, none for longer than a limit.

The system's resolver blocks for as long as it likes and cannot be interrupted, so each name is
looked up in a thread of its own, which is left behind when its time is up.
"""

from collections.abc import Callable, Iterable, Sequence
from threading import Condition, Thread
from typing import Final, NamedTuple

from kdiag.clock import Clock
from kdiag.errors import ConnectError, Fault, Layer
from kdiag.net.address import Address, host_and_port

_NS_PER_S: Final = 1_000_000_000
_FIX: Final = "Check the network and the name servers of this machine: getent hosts {host}"

Resolve = Callable[[str, int], Sequence[Address]]
"""Returns the addresses of a host and port, or raises ConnectError."""


class Lookup(NamedTuple):
    """How the lookup of one name ended.

    Attributes:
        addresses: at least one, unless there is an error.
        error: why there is none.
        took_ns: how long it took.
    """

    addresses: Sequence[Address]
    error: ConnectError | None
    took_ns: int


def look_up_all(
    endpoints: Iterable[tuple[str, int]], resolve: Resolve, clock: Clock, limit_ns: int
) -> dict[tuple[str, int], Lookup]:
    """Return how the lookup of each host and port ended, in the order in which they are given.

    Args:
        endpoints: host and port.
        resolve: looks one up, in a thread.
        clock: tells how long each took.
        limit_ns: after which a name counts as not found, in the machine's own time.
    """
    wanted = list(dict.fromkeys(endpoints))
    found: dict[tuple[str, int], Lookup] = {}
    changed = Condition()
    began_ns = clock.monotonic_ns()

    def look_up(endpoint: tuple[str, int]) -> None:
        addresses: Sequence[Address] = ()
        error = None
        try:
            addresses = resolve(*endpoint)
        except ConnectError as failure:
            error = failure
        with changed:
            found[endpoint] = Lookup(addresses, error, clock.monotonic_ns() - began_ns)
            changed.notify()

    for endpoint in wanted:
        Thread(target=look_up, args=[endpoint], daemon=True).start()
    with changed:
        changed.wait_for(lambda: len(found) == len(wanted), limit_ns / _NS_PER_S)
        return {each: found.get(each) or _unanswered(*each, limit_ns) for each in wanted}


def _unanswered(host: str, port: int, limit_ns: int) -> Lookup:
    why = f"no name server has answered for {host} within {limit_ns / _NS_PER_S:.3g} s"
    address, fix = host_and_port(host, port), _FIX.format(host=host)
    error = ConnectError(address, Layer.DNS, why, fix, Fault.NO_NAME_SERVER)
    return Lookup((), error, limit_ns)
