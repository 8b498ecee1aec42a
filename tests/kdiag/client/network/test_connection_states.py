import socket
from collections.abc import Sequence

import pytest

from kdiag.client.network.connection_states import (
    FOREVER_NS,
    ClusterConnectionStates,
    ConnectionState,
)
from kdiag.client.network.metadata import Node
from kdiag.client.network.settings import ConnectionTimes
from kdiag.errors import AuthenticationError, ConnectError, Layer
from kdiag.net.address import Address

TIMES = ConnectionTimes(
    reconnect_backoff_ns=10,
    reconnect_backoff_max_ns=100,
    setup_timeout_ns=1_000,
    setup_timeout_max_ns=9_000,
    jitter=0.0,
)
NODE = Node("1", "kafka.example", 9092)
OTHER = Node("2", "other.example", 9092)
REFUSED = AuthenticationError("kafka.example:9092", Layer.SASL, "wrong password")


def addresses(*ips: str) -> list[Address]:
    """Return the addresses of the node's host."""
    return [Address("kafka.example", 9092, ip, socket.AF_INET) for ip in ips]


class Names:
    """Answers look-ups with what it is told, and counts them."""

    def __init__(self, *answers: Sequence[Address]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, node: Node) -> Sequence[Address]:
        """Return the next answer; the last one stays."""
        self.asked.append(node.host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def new_states(*answers: Sequence[Address]) -> tuple[ClusterConnectionStates, Names]:
    """Return states without nodes, and the look-ups that they make."""
    names = Names(*(answers or (addresses("10.0.0.1"),)))
    return ClusterConnectionStates(names, TIMES), names


def test_a_connection_goes_from_connecting_over_api_versions_to_ready_and_ends() -> None:
    """Each state says whether to connect, and how long to wait."""
    states, _ = new_states()
    assert states.can_connect("1", 0)
    assert states.connection_delay_ns("1", 0) == 0
    assert not states.is_known("1")
    assert states.node_ids() == []

    states.connecting(NODE, 0)
    assert states.state("1") is ConnectionState.CONNECTING
    assert not states.can_connect("1", 5_000)
    assert states.connection_delay_ns("1", 0) == 1_000

    states.checking_api_versions("1")
    assert not states.is_ready("1", 0)
    assert states.connection_delay_ns("1", 0) == FOREVER_NS

    states.ready("1")
    assert states.is_ready("1", 0)
    assert states.has_ready_nodes(0)
    assert states.connection_delay_ns("1", 0) == FOREVER_NS

    states.disconnected("1", 50)
    assert states.state("1") is ConnectionState.DISCONNECTED
    assert not states.has_ready_nodes(50)
    assert states.is_backing_off("1", 59)
    assert not states.can_connect("1", 59)
    assert states.connection_delay_ns("1", 53) == 7
    assert states.can_connect("1", 60)
    assert states.connection_delay_ns("1", 70) == 0


def test_nodes_do_not_mind_each_other() -> None:
    """One fails while the other is in use."""
    states, _ = new_states()
    states.connecting(NODE, 0)
    states.connecting(OTHER, 0)
    states.ready("2")
    states.disconnected("1", 5)

    assert states.is_backing_off("1", 6)
    assert states.is_ready("2", 6)
    assert not states.is_backing_off("2", 6)


def test_a_node_that_refuses_us_is_left_alone_then_may_be_tried_again() -> None:
    """The reason is kept until the node is ready."""
    states, _ = new_states()
    states.connecting(NODE, 0)
    states.authentication_failed("1", 1_000, REFUSED)

    assert states.state("1") is ConnectionState.AUTHENTICATION_FAILED
    assert states.authentication_error("1") is REFUSED
    assert states.is_backing_off("1", 1_000)
    assert states.connection_delay_ns("1", 1_000) == 10
    assert states.can_connect("1", 1_010)

    states.connecting(NODE, 1_010)
    assert states.authentication_error("1") is REFUSED
    states.ready("1")
    assert states.authentication_error("1") is None


def test_a_removed_node_is_unknown() -> None:
    """Its backoff is forgotten with it."""
    states, _ = new_states()
    states.connecting(NODE, 0)
    states.disconnected("1", 0)
    assert not states.can_connect("1", 1)
    states.remove("1")

    assert states.can_connect("1", 1)
    assert states.connection_delay_ns("1", 1) == 0
    assert states.last_attempt_ns("1") == 0
    states.remove("1")


def test_the_reconnect_backoff_doubles_up_to_its_maximum_until_the_node_is_ready() -> None:
    """A connection that only came to ApiVersions does not reset it."""
    states, _ = new_states()
    delays = []
    now_ns = 0
    for attempt in range(6):
        states.connecting(NODE, now_ns)
        if attempt % 2:
            states.checking_api_versions("1")
        states.disconnected("1", now_ns)
        delays.append(states.connection_delay_ns("1", now_ns))
        now_ns += 1_000
    assert delays == [10, 20, 40, 80, 100, 100]

    states.connecting(NODE, now_ns)
    states.ready("1")
    states.disconnected("1", now_ns)
    assert states.connection_delay_ns("1", now_ns) == 10


def test_jitter_keeps_a_backoff_within_a_fifth() -> None:
    """So that not all clients come back at once, and none much later than it should."""
    states = ClusterConnectionStates(
        Names(addresses("10.0.0.1")), TIMES._replace(reconnect_backoff_ns=50, jitter=0.2)
    )
    delays = set()
    for now_ns in range(0, 100_000, 1_000):
        states.connecting(NODE, now_ns)
        states.ready("1")
        states.disconnected("1", now_ns)
        delays.add(states.connection_delay_ns("1", now_ns))

    assert delays <= set(range(40, 61))
    assert len(delays) > 1


def test_a_throttled_node_is_not_ready_until_the_deadline() -> None:
    """An earlier deadline than the one in force changes nothing."""
    states, _ = new_states()
    states.throttle("1", 99)  # not known
    states.connecting(NODE, 0)
    states.ready("1")
    states.throttle("1", 50)
    states.throttle("1", 20)

    assert not states.is_ready("1", 30)
    assert not states.has_ready_nodes(30)
    assert states.throttle_delay_ns("1", 30) == 20
    assert states.poll_delay_ns("1", 30) == 20
    assert states.is_ready("1", 50)
    assert states.poll_delay_ns("1", 50) == FOREVER_NS
    states.disconnected("1", 50)
    assert states.throttle_delay_ns("1", 30) == 0


def test_a_host_with_one_address_is_looked_up_for_each_attempt() -> None:
    """After its only address there is no next one."""
    states, names = new_states(addresses("10.0.0.1"))
    for now_ns in (0, 1_000):
        assert states.connecting(NODE, now_ns).ip == "10.0.0.1"
        assert not states.has_next_address("1")
        states.disconnected("1", now_ns)

    assert len(names.asked) == 2


def test_attempts_take_the_addresses_of_a_host_one_after_the_other() -> None:
    """When all are tried the host is looked up again."""
    states, names = new_states(addresses("10.0.0.1", "10.0.0.2"))
    tried = []
    for now_ns in range(0, 5_000, 1_000):
        tried.append(states.connecting(NODE, now_ns).ip)
        states.disconnected("1", now_ns)
        if len(tried) == 1:
            assert states.has_next_address("1")

    assert tried[:2] == ["10.0.0.1", "10.0.0.2"]
    assert set(tried) == {"10.0.0.1", "10.0.0.2"}
    assert len(names.asked) == 3


def test_a_connection_that_worked_is_looked_up_anew_when_it_ends() -> None:
    """The broker may have moved since."""
    states, names = new_states(addresses("10.0.0.1", "10.0.0.2"), addresses("10.0.0.7"))
    states.connecting(NODE, 0)
    states.ready("1")
    states.disconnected("1", 5)

    assert states.connecting(NODE, 100).ip == "10.0.0.7"
    assert len(names.asked) == 2


def test_a_node_with_a_new_host_is_a_new_node() -> None:
    """Nothing of the old host counts."""
    states, names = new_states(addresses("10.0.0.1", "10.0.0.2"))
    states.connecting(NODE, 0)
    states.disconnected("1", 0)
    states.connecting(NODE._replace(host="moved.example"), 1_000)

    assert names.asked == ["kafka.example", "moved.example"]
    states.disconnected("1", 1_000)
    assert states.connection_delay_ns("1", 1_000) == 10


def test_the_address_that_was_tried_just_before_is_not_tried_first_again() -> None:
    """Unless there is no other."""
    states, _ = new_states(addresses("10.0.0.1", "10.0.0.2"))
    assert states.connecting(NODE, 0).ip == "10.0.0.1"
    states.ready("1")
    states.disconnected("1", 0)

    assert states.connecting(NODE, 100).ip == "10.0.0.2"


def test_a_host_without_an_address_counts_as_an_attempt() -> None:
    """The caller ends it, and the node backs off."""

    def nowhere(node: Node) -> Sequence[Address]:
        raise ConnectError(node.endpoint, Layer.DNS, "no such host")

    states = ClusterConnectionStates(nowhere, TIMES)
    with pytest.raises(ConnectError, match="no such host"):
        states.connecting(NODE, 0)
    assert states.state("1") is ConnectionState.CONNECTING
    assert states.last_address("1") is None
    states.disconnected("1", 0)
    assert states.is_backing_off("1", 5)


def test_a_connection_is_being_prepared_until_it_is_ready() -> None:
    """While it is made and while versions are asked for."""
    states, _ = new_states()
    assert not states.is_preparing("1")
    states.connecting(NODE, 0)
    assert states.is_preparing("1")
    states.checking_api_versions("1")
    assert states.is_preparing("1")
    states.ready("1")
    assert not states.is_preparing("1")
    states.disconnected("1", 0)
    assert not states.is_preparing("1")


def test_the_setup_timeout_doubles_with_each_connection_that_never_came_about() -> None:
    """One that came to ApiVersions, or was ready, resets it."""
    states, _ = new_states()
    timeouts = []
    for now_ns in range(0, 60_000, 10_000):
        states.connecting(NODE, now_ns)
        timeouts.append(states.setup_timeout_ns("1"))
        states.disconnected("1", now_ns)
    assert timeouts == [1_000, 2_000, 4_000, 8_000, 9_000, 9_000]

    states.connecting(NODE, 70_000)
    states.checking_api_versions("1")
    assert states.setup_timeout_ns("1") == 1_000


def test_connections_time_out_one_by_one() -> None:
    """Only those that are being made, and longer ago than their timeout."""
    states, _ = new_states()
    states.connecting(NODE, 0)
    states.connecting(OTHER, 500)
    assert states.next_timeout_ns() == 1_000
    assert states.timed_out_connections(1_000) == []
    assert states.timed_out_connections(1_001) == ["1"]
    assert states.timed_out_connections(1_501) == ["1", "2"]

    states.ready("1")
    states.disconnected("2", 1_501)
    assert states.timed_out_connections(99_999) == []
    assert states.next_timeout_ns() == FOREVER_NS


def test_the_time_of_the_last_attempt_is_that_of_its_beginning_or_its_failure() -> None:
    """The later of the two."""
    states, _ = new_states()
    states.connecting(NODE, 7)
    assert states.last_attempt_ns("1") == 7
    states.disconnected("1", 30)
    assert states.last_attempt_ns("1") == 30
