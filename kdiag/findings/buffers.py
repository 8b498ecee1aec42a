"""KD601x and KD602x: the limits of throughput between this machine and a broker."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

_WARNING: Final = Severity.WARNING
_INFO: Final = Severity.INFO

RULES: Final = {
    "KD6010": Rule(
        _WARNING,
        "broker {node_id}: its receive buffer holds produce down to {mb_per_s} MB/s, whatever the "
        "client's is: socket.receive.buffer.bytes={setting_bytes}, round trip {rtt_ms} ms",
        "What is on its way to the broker must have room in its receive buffer, so no more goes in "
        "a round trip than that. Kafka sets 102400 unless told otherwise, and a buffer that is set "
        "does not grow.",
        "Set socket.receive.buffer.bytes=-1 in the broker's server.properties, which leaves it to "
        "its kernel, or {needed_bytes} or more for {rate_mb_per_s} MB/s; it takes a restart.",
    ),
    "KD6011": Rule(
        _WARNING,
        "broker {node_id}: its send buffer holds fetches down to {mb_per_s} MB/s, whatever the "
        "client's is: socket.send.buffer.bytes={setting_bytes}, round trip {rtt_ms} ms",
        "What the broker has sent stays in its send buffer until it is acknowledged, so no more "
        "goes in a round trip than that. Kafka sets 102400 unless told otherwise, and a buffer "
        "that is set does not grow.",
        "Set socket.send.buffer.bytes=-1 in the broker's server.properties, which leaves it to its "
        "kernel, or {needed_bytes} or more for {rate_mb_per_s} MB/s; it takes a restart.",
    ),
    "KD6012": Rule(
        _INFO,
        "broker {node_id}: default batches hold producers down to {mb_per_s} MB/s: {turn_bytes} "
        "bytes in each round trip of {rtt_ms} ms",
        "A producer waits for answers once max.in.flight.requests.per.connection requests are on "
        "their way. With 5 batches of 16 KiB that is all that goes in a round trip, whatever the "
        "buffers are.",
        "Raise batch.size, with linger.ms so that batches fill: {needed_bytes} bytes must be on "
        "their way for {rate_mb_per_s} MB/s.",
    ),
    "KD6013": Rule(
        _INFO,
        "broker {node_id}: default fetches hold consumers down to {mb_per_s} MB/s: {turn_bytes} "
        "bytes of one partition in each round trip of {rtt_ms} ms",
        "A consumer fetches from a broker once it has the answer before, and that brings no more "
        "than max.partition.fetch.bytes of each partition.",
        "Raise max.partition.fetch.bytes and fetch.max.bytes (librdkafka: "
        "fetch.message.max.bytes), so that a fetch brings several times {needed_bytes} bytes.",
    ),
    "KD6014": Rule(
        _WARNING,
        "broker {node_id}: no window is larger than 64 KiB, for window scaling is lost on the way "
        "to {address}",
        "A receive window above 64 KiB needs both ends to offer window scaling in their SYNs (RFC "
        "7323). Buffers of any size make no difference then.",
        "Set net.ipv4.tcp_window_scaling=1 on both ends; if it is, have the firewall or load "
        "balancer that alters SYNs mended.",
    ),
    "KD6015": Rule(
        _INFO,
        "this machine's kernel lets {which} grow to {most_bytes} bytes, too few for "
        "{rate_mb_per_s} MB/s over {rtt_ms} ms",
        "A buffer that is left to the kernel grows with the path, but not beyond the last number "
        "of net.ipv4.tcp_wmem (to send) or net.ipv4.tcp_rmem (to receive).",
        "Raise it with the sysctl lines of the advice, here and on the broker's machine; or do "
        "with {reached_mb_per_s} MB/s for a connection.",
    ),
    "KD6016": Rule(
        _INFO,
        "broker {node_id}: {rtt_ms} ms away: on so short a path buffers make no difference",
        "What is on its way at any rate is less than the smallest buffer in use. A test of buffers "
        "over loopback misleads: its segments are as large as small buffers, which then collapse "
        "for reasons that no network has.",
        "Leave buffers to the kernel (-1). A test over loopback misleads: measure from where the "
        "clients are.",
    ),
    "KD6017": Rule(
        _WARNING,
        "broker {node_id}: the network loses what is sent: {retransmits} segments were sent again "
        "for {moved_mb} MB",
        "After a loss TCP sends less, and what follows waits for what was lost. Larger buffers do "
        "not help against that.",
        "Look for errors, drops and shapers on the path to {address}; "
        "net.ipv4.tcp_congestion_control=bbr bears random losses better.",
    ),
    "KD6018": Rule(
        _WARNING,
        "broker {node_id}: a quota holds this client: it was left alone for {throttled_ms} ms",
        "The broker delays clients that exceed producer_byte_rate or consumer_byte_rate. What was "
        "measured shows the quota, not the path.",
        "Measure as a user, or with a client.id, that has no quota, or raise the quota.",
    ),
    "KD6019": Rule(
        _INFO,
        "broker {node_id}: its buffers are not known: {why}",
        "Its settings cap the path as much as the client's do, but it does not let this user "
        "describe them (DescribeConfigs on the cluster).",
        "Ask as a user who may, or look for socket.send.buffer.bytes and "
        "socket.receive.buffer.bytes in its server.properties; they are 102400 unless set.",
    ),
    "KD6020": Rule(
        _WARNING,
        "broker {node_id}: the topic holds too little to fill the path: {load_bytes} bytes were on "
        "their way, of {needed_bytes} for {rate_mb_per_s} MB/s",
        "What was measured shows how fast so little goes, not what buffers allow.",
        "Name a topic whose partitions hold more with --topic, or let kdiag use one of its own.",
    ),
    "KD6021": Rule(
        _INFO,
        "this machine's kernel gives no more than {most_bytes} bytes to {which}, whatever is set",
        "net.core.wmem_max (to send) and net.core.rmem_max (to receive) cap what programs set, and "
        "do not tell them. Buffers that are left to the kernel may grow beyond.",
        "Leave buffers to the kernel (-1), or raise the limit; sizes above it are all alike here.",
    ),
}
"""By id."""
