import socket

from kdiag.client.network.connection_states import ClusterConnectionStates
from kdiag.client.network.least_loaded import NodeLoad, least_loaded_node
from kdiag.client.network.metadata import Node
from kdiag.client.network.settings import ConnectionTimes
from kdiag.net.address import Address

NODES = [Node(str(number), "127.0.0.1", 9000 + number) for number in (1, 2, 3)]
UNUSABLE = NodeLoad(is_usable=False, can_send_more=True, in_flight_count=0)
FULL = NodeLoad(is_usable=True, can_send_more=False, in_flight_count=5)
TRIES = range(30)


def idle(in_flight_count: int = 0) -> NodeLoad:
    """Return the load of a connection that can be used."""
    return NodeLoad(is_usable=True, can_send_more=True, in_flight_count=in_flight_count)


def new_states() -> ClusterConnectionStates:
    """Return states without nodes, whose hosts have one address."""
    return ClusterConnectionStates(
        lambda node: [Address(node.host, node.port, node.host, socket.AF_INET)],
        ConnectionTimes(reconnect_backoff_ns=100, reconnect_backoff_max_ns=100, jitter=0.0),
    )


def chosen(
    states: ClusterConnectionStates, loads: dict[str, NodeLoad] | None = None, now_ns: int = 0
) -> set[Node | None]:
    """Return every choice that chance makes."""
    known = loads or {}
    return {
        least_loaded_node(NODES, lambda node_id: known.get(node_id, UNUSABLE), states, now_ns)
        for _ in TRIES
    }


def test_the_connection_with_the_fewest_requests_in_flight_is_taken() -> None:
    """Rather than one that would have to be made."""
    loads = {"1": idle(3), "2": idle(1)}

    assert chosen(new_states(), loads) == {NODES[1]}


def test_chance_decides_among_equals() -> None:
    """So that not every client asks the first broker."""
    assert len(chosen(new_states())) > 1


def test_a_connection_that_is_being_made_is_waited_for() -> None:
    """Rather than making another."""
    states = new_states()
    states.connecting(NODES[2], 0)

    assert chosen(states) == {NODES[2]}


def test_of_nodes_to_connect_to_the_one_tried_longest_ago_is_taken() -> None:
    """So that one broker that is off does not keep the client from the others."""
    states = new_states()
    for now_ns, node in ((30, NODES[0]), (10, NODES[1]), (20, NODES[2])):
        states.connecting(node, now_ns)
        states.disconnected(node.id, now_ns)

    assert chosen(states, now_ns=1_000) == {NODES[1]}


def test_nodes_that_back_off_are_not_taken() -> None:
    """There may be none to take."""
    states = new_states()
    for node in NODES:
        states.connecting(node, 0)
        states.disconnected(node.id, 0)

    assert chosen(states, now_ns=50) == {None}


def test_a_connection_that_is_full_is_not_taken() -> None:
    """There is no room for a request now."""
    states = new_states()
    for node in NODES:
        states.connecting(node, 0)
        states.ready(node.id)

    assert chosen(states, {"1": FULL}) == {None}


def test_a_throttled_connection_is_not_taken() -> None:
    """It is READY, so it is not to be connected to either."""
    states = new_states()
    states.connecting(NODES[0], 0)
    states.ready("1")
    states.throttle("1", 100)

    assert all(each != NODES[0] for each in chosen(states))


def test_without_nodes_there_is_nothing_to_take() -> None:
    """As before anybody has named a server."""
    assert least_loaded_node([], lambda _: UNUSABLE, new_states(), 0) is None
