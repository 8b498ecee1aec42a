"""KD6xxx: the limits of throughput on a connection."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

_WARNING: Final = Severity.WARNING
_INFO: Final = Severity.INFO

RULES: Final = {
    "KD6001": Rule(
        _WARNING,
        "no window between {client} and {broker} is larger than 64 KiB: {who} window scaling",
        "A receive window above 64 KiB needs both ends to offer window scaling in their SYNs "
        "(RFC 7323). Where one end offers and the other does not, something in between may have "
        "taken the offer away. Buffers of any size make no difference then.",
        "Set net.ipv4.tcp_window_scaling=1 on both ends; if it is, capture at both ends, compare "
        "their SYNs, and have the firewall or load balancer that alters them mended.",
    ),
    "KD6002": Rule(
        _WARNING,
        "the receive buffer of the {receiver} holds {what} down to {mb_per_s} MB/s: "
        "{bound_bytes} bytes per round trip of {rtt_ms} ms",
        "No more can be on its way than the receiver has room for, so the rate is at most its "
        "window divided by the round trip.",
        "Set {receive_setting} to -1, which leaves it to the kernel, or to {needed_bytes} or more; "
        "then look again, for {send_setting} caps the same path.",
    ),
    "KD6003": Rule(
        _WARNING,
        "the {receiver} is slow to read {what}: its window was small or closed for {percent} % of "
        "the time",
        "Bytes that a program has not read take up its receive window until the sender has to "
        "stop. The network could bring more; larger buffers only put it off.",
        "Find what keeps the {receiver} {address} from reading: processor, garbage collection, "
        "disk, or the time it takes for each record.",
    ),
    "KD6004": Rule(
        _WARNING,
        "the send buffer of the {sender} holds {what} down to {mb_per_s} MB/s: {bound_bytes} "
        "bytes per round trip of {rtt_ms} ms",
        "What was sent stays in the send buffer until it is acknowledged, so the rate is at most "
        "its size divided by the round trip. The receiver's window had room for more, nothing was "
        "lost, and the sender was in the middle of a message.",
        "Set {send_setting} to -1, which leaves it to the kernel, or to {needed_bytes} or more; "
        "then look again, for {receive_setting} caps the same path.",
    ),
    "KD6005": Rule(
        _WARNING,
        "the network loses {what}: {retransmits} of {segments} segments were sent again",
        "After a loss TCP sends less, and what follows waits for what was lost. Larger buffers do "
        "not help against that.",
        "Look for errors, drops and shapers on the path from {sender_address} to "
        "{receiver_address}; net.ipv4.tcp_congestion_control=bbr bears random losses better.",
    ),
    "KD6006": Rule(
        _INFO,
        "the path is full with {what}: {mb_per_s} MB/s, round trips grow from {rtt_ms} to "
        "{loaded_rtt_ms} ms",
        "What is sent waits in a queue on the way: the link carries no more.",
        "Send less (compression.type, larger batches), or get a faster link; buffers do not help.",
    ),
    "KD6007": Rule(
        _INFO,
        "the client waits for answers: {turn_bytes} bytes of {what} in each round trip of "
        "{rtt_ms} ms make {mb_per_s} MB/s",
        "A producer sends a few requests and waits for their responses: no more goes in a round "
        "trip than batch.size times max.in.flight.requests.per.connection. TCP had room for more.",
        "Raise batch.size, with linger.ms so that batches fill, and "
        "max.in.flight.requests.per.connection up to 5; for 1 second of data per second at the "
        "full rate {needed_bytes} bytes must be on their way.",
    ),
    "KD6008": Rule(
        _INFO,
        "the client asks for too little: {turn_bytes} bytes of {what} in each round trip of "
        "{rtt_ms} ms make {mb_per_s} MB/s",
        "A consumer fetches from a broker when it has the answer to the fetch before: no more goes "
        "in a round trip than one response holds. TCP had room for more.",
        "Raise max.partition.fetch.bytes and fetch.max.bytes, so that a response holds "
        "{needed_bytes} bytes; fetch.min.bytes has the broker wait until there is more.",
    ),
    "KD6009": Rule(
        _INFO,
        "the {sender} holds {what} back at {mb_per_s} MB/s, by its buffer or its program: {why}",
        "Bytes were in flight and nothing was lost, but it did not send more. The capture does not "
        "tell whether it could have.",
        "Capture from the beginning of the connection, whole packets, and with the keys of TLS "
        "(--keylog).",
    ),
    "KD6101": Rule(
        _WARNING,
        "the {role} {receiver} stopped reading from {sender} for {longest_s} s at {first}: its "
        "receive window was closed{more}",
        "Bytes that a program has not read fill its receive window, and then the sender has to "
        "stop. The program was paused, hung, or busy with something else.",
        "Find what kept the {role} {receiver} from reading: processor, garbage collection, disk, "
        "or the time it takes for each record.",
    ),
}
"""By id."""
