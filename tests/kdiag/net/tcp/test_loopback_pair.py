from kdiag.net.tcp.loopback_pair import loopback_pair


def test_both_ends_are_connected_to_each_other() -> None:
    """And to nobody else: what one writes the other reads."""
    ours, theirs = loopback_pair()
    with ours, theirs:
        assert ours.getsockname() == theirs.getpeername()
        assert theirs.getsockname() == ours.getpeername()
        ours.send(b"there")
        theirs.settimeout(5)
        assert theirs.recv(10) == b"there"
        assert not ours.getblocking()
