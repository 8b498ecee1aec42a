from kdiag.exchange.summary.largest import LargestConnections
from recordings.exchange_maker import make_connection


def test_of_many_connections_those_with_the_most_bytes_are_kept() -> None:
    """Of equals the first ones, the others are counted; with room for all, all are there."""
    sizes = [5, 0, 9, 5, 7, 0]
    for most, kept, largest in ((3, [1, 3, 5], [3, 5, 1]), (9, [1, 2, 3, 4, 5, 6], [3, 5, 1])):
        connections: LargestConnections[int] = LargestConnections(most)
        for number, size in reversed(list(enumerate(sizes, 1))):
            connection = make_connection()
            connection.number, connection.response_bytes = number, size
            connections.add(connection, number)

        assert list(connections) == kept
        assert list(connections.largest())[:3] == largest
        assert (len(connections), connections.left_out) == (len(kept), len(sizes) - len(kept))
