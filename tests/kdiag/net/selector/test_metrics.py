from client_ends.echo_server import Loopback


def test_connections_are_counted_at_both_ends(loopback: Loopback) -> None:
    """Those that were made and those that were accepted, when they begin and when they end."""
    for channel_id in "ab":
        loopback.connect(channel_id)
    loopback.client.selector.close_channel("a")
    loopback.poll_until(lambda: loopback.server.disconnected)

    for end in (loopback.client, loopback.server):
        metrics = end.selector.metrics
        assert (metrics.connections_created, metrics.connections_closed) == (2, 1)
        assert metrics.select_count > 0


def test_frames_and_their_bytes_are_counted_at_both_ends(loopback: Loopback) -> None:
    """Length prefixes count, handshakes do not."""
    loopback.connect("1")
    loopback.client.send("1", b"question")
    loopback.poll_until(lambda: loopback.client.receives)

    for end in (loopback.client, loopback.server):
        metrics = end.selector.metrics
        assert (metrics.sends, metrics.bytes_sent) == (1, 12)
        assert (metrics.receives, metrics.bytes_received) == (1, 12)


def test_connections_are_counted_by_client_software(loopback: Loopback) -> None:
    """As clients name themselves; one that names itself anew counts once."""
    server = loopback.server.selector
    ids = [loopback.connect(channel_id) for channel_id in "abc"]
    for channel_id in ids:
        server.set_client_software(channel_id, "unknown", "")
    for channel_id in ids[:2]:
        server.set_client_software(channel_id, "kdiag", "1.0")
    by_client = server.metrics.connections_by_client
    assert by_client == {("unknown", ""): 1, ("kdiag", "1.0"): 2}
    for channel_id in ids[1:]:
        server.close_channel(channel_id)
    assert by_client == {("kdiag", "1.0"): 1}
