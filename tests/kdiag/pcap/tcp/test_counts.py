from kdiag.exchange.model import Connection
from kdiag.pcap.tcp.counts import Counts


def test_what_connections_lack_adds_up() -> None:
    """Each is added once, when it has ended; other counts stay what they are."""
    counts = Counts(segments=9)
    for _ in range(2):
        ended = Connection(
            number=1,
            connection_id="",
            client="",
            broker="",
            first_ns=0,
            last_ns=0,
            duplicates=1,
            gaps=2,
            gap_bytes=300,
        )
        counts.add(ended, 4, 5)

    expected = Counts(
        segments=9, duplicates=2, gaps=4, gap_bytes=600, overlap_mismatches=8, strays=10
    )
    assert counts == expected
