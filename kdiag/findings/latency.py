"""KD7xxx: the causes of late responses."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

_WARNING: Final = Severity.WARNING
_INFO: Final = Severity.INFO

RULES: Final = {
    "KD7001": Rule(
        _WARNING,
        "{percent} % of the answers to {what} come in two pieces, {stall_ms} ms apart",
        "A program that writes a message in two small pieces without TCP_NODELAY waits with the "
        "second until the first is acknowledged (Nagle's algorithm), and the receiver delays that "
        "by 40 ms on Linux, by 200 ms elsewhere. After a loss, too, it takes 200 ms to send again.",
        "Brokers set TCP_NODELAY: look at what is in between, such as a proxy, a load balancer or "
        "a TLS terminator, and have it set TCP_NODELAY or write whole messages.",
    ),
    "KD7002": Rule(
        _INFO,
        "{percent} % of {what} take {stall_ms} ms longer than the others",
        "Latencies that cluster there are often not work but a timer of TCP: delayed "
        "acknowledgements (40 ms on Linux, 200 ms elsewhere), or the first repetition after a loss "
        "(200 ms). It lies between here and the broker, or between brokers.",
        "Capture on the broker (tcpdump) and see `kdiag decode --tcp`; have proxies in between set "
        "TCP_NODELAY.",
    ),
    "KD7003": Rule(
        _WARNING,
        "half of {what} wait {queued_ms} ms before they are sent: the rate is not kept",
        "Requests are due on a schedule. What is not answered yet takes one of "
        "max.in.flight.requests.per.connection places; when these are taken, what is due waits.",
        "Lower --rate to one that is kept, or raise the places with "
        "-X max.in.flight.requests.per.connection=N; if nothing is slow, this machine is busy.",
    ),
    "KD7004": Rule(
        _INFO,
        "broker {node_id} takes {mean_ms} ms for {what} on average, the others {other_ms} ms",
        "The same requests went to all brokers in turns.",
        "Compare disks, load and followers of broker {node_id}, and the way to it: its round trip "
        "takes {rtt_ms} ms.",
    ),
    "KD7005": Rule(
        _INFO,
        "half of {what} wait {asking_ms} ms until the consumer asks again",
        "A consumer has one fetch on its way to a broker. What is written while the answer travels "
        "back, and until the next fetch has arrived, waits: on a long path up to a round trip.",
        "Have consumers nearer to their brokers, or write "
        "less often (linger.ms): fewer batches meet a fetch that is away.",
    ),
}
"""By id."""
