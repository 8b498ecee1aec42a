"""Lines to paste: the settings of each client, of the broker and of the kernel.

Sources: Kafka's `ProducerConfig`, `ConsumerConfig`, `SocketServerConfigs`; librdkafka's
CONFIGURATION.md; kafka-python 3.0, which accepts `send_buffer_bytes` and `receive_buffer_bytes` and
applies neither, but applies `socket_options`, and which by default, being idempotent, has one batch
of a partition in flight at a time.
"""

from typing import Final, NamedTuple

from kdiag.diagnosis.buffers.ceiling import RECEIVE_FACTOR, SEND_FACTOR
from kdiag.diagnosis.buffers.facts import LEFT_TO_KERNEL, BrokerConfig, KernelLimits
from kdiag.diagnosis.buffers.trials import BufferChoice

_MOST_IN_FLIGHT: Final = 5
_LEAST_BATCH_BYTES: Final = 16 << 10
_MOST_BATCH_BYTES: Final = 512 << 10
_LEAST_FETCH_BYTES: Final = 1 << 20
_MOST_FETCH_BYTES: Final = 50 << 20
_DOUBLED: Final = 2


class BufferAdvice(NamedTuple):
    """The settings of one program.

    Attributes:
        client: `java`, `librdkafka`, `kafka-python`, `broker` or `sysctl`.
        lines: the lines to paste.
    """

    client: str
    lines: list[str]


class BufferPlan(NamedTuple):
    """The goal of the lines, and the present settings.

    Attributes:
        send: the client's send buffer.
        receive: the client's receive buffer.
        bdp_bytes: the bytes in flight that fill the path.
        config: the settings of the broker.
        limits: the limits of this machine's kernel.
    """

    send: BufferChoice
    receive: BufferChoice
    bdp_bytes: int
    config: BrokerConfig
    limits: KernelLimits


def advise(plan: BufferPlan) -> list[BufferAdvice]:
    """Return the lines to paste for each program that needs any."""
    places = [
        BufferAdvice("java", _java(plan)),
        BufferAdvice("librdkafka", _librdkafka(plan)),
        BufferAdvice("kafka-python", _kafka_python(plan)),
        BufferAdvice("broker", _broker(plan)),
        BufferAdvice("sysctl", sysctl_lines(plan)),
    ]
    return [each for each in places if each.lines]


def batch_bytes(
    bdp_bytes: int, message_max_bytes: int | None = None, in_flight: int = _MOST_IN_FLIGHT
) -> int:
    """Return the batch size with which `in_flight` requests fill a path, within its limits.

    Args:
        bdp_bytes: the bytes in flight that fill the path.
        message_max_bytes: the largest batch that the broker accepts; None if not known.
        in_flight: the batches of a partition in flight at a time.
    """
    size = _rounded(bdp_bytes // in_flight, _LEAST_BATCH_BYTES, _MOST_BATCH_BYTES)
    return size if message_max_bytes is None else min(size, message_max_bytes)


def fetch_bytes(bdp_bytes: int) -> int:
    """Return four times the bytes that fill a path, as the size of the one fetch in flight."""
    return _rounded(4 * bdp_bytes, _LEAST_FETCH_BYTES, _MOST_FETCH_BYTES)


def _java(plan: BufferPlan) -> list[str]:
    fetch = fetch_bytes(plan.bdp_bytes)
    return [
        "# producer",
        f"send.buffer.bytes={plan.send.size_bytes}",
        f"batch.size={batch_bytes(plan.bdp_bytes, plan.config.message_max_bytes)}",
        "linger.ms=20",
        "# consumer",
        f"receive.buffer.bytes={plan.receive.size_bytes}",
        f"max.partition.fetch.bytes={fetch}",
        f"fetch.max.bytes={max(fetch, 50 << 20)}",
    ]


def _librdkafka(plan: BufferPlan) -> list[str]:
    fetch = fetch_bytes(plan.bdp_bytes)
    return [
        f"socket.send.buffer.bytes={_or_zero(plan.send.size_bytes)}",
        f"socket.receive.buffer.bytes={_or_zero(plan.receive.size_bytes)}",
        f"fetch.message.max.bytes={fetch}",
    ]


def _kafka_python(plan: BufferPlan) -> list[str]:
    options = ["(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)"]
    for name, choice in (("SO_SNDBUF", plan.send), ("SO_RCVBUF", plan.receive)):
        if choice.size_bytes != LEFT_TO_KERNEL:
            options.append(f"(socket.SOL_SOCKET, socket.{name}, {choice.size_bytes})")
    batch = batch_bytes(plan.bdp_bytes, plan.config.message_max_bytes, in_flight=1)
    return [
        "# send_buffer_bytes and receive_buffer_bytes are not applied, socket_options are",
        f"socket_options=[{', '.join(options)}]",
        "# with enable_idempotence one batch of a partition is on its way at a time",
        f"batch_size={batch}",
        f"max_partition_fetch_bytes={fetch_bytes(plan.bdp_bytes)}",
    ]


def _broker(plan: BufferPlan) -> list[str]:
    """Return the lines for server.properties; none if its buffers are large enough."""
    config, lines = plan.config, []
    if not _has_room(config.send_buffer_bytes, SEND_FACTOR, plan.bdp_bytes):
        lines.append(f"socket.send.buffer.bytes={LEFT_TO_KERNEL}")
    if not _has_room(config.receive_buffer_bytes, RECEIVE_FACTOR, plan.bdp_bytes):
        lines.append(f"socket.receive.buffer.bytes={LEFT_TO_KERNEL}")
    return lines


def sysctl_lines(plan: BufferPlan) -> list[str]:
    """Return the limits that this machine's kernel must raise; none if they are large enough."""
    limits, bdp_bytes = plan.limits, plan.bdp_bytes
    lines = []
    for name, tuned, choice, factor, most in (
        ("wmem", limits.tcp_wmem, plan.send, SEND_FACTOR, limits.wmem_max),
        ("rmem", limits.tcp_rmem, plan.receive, RECEIVE_FACTOR, limits.rmem_max),
    ):
        needed_bytes = int(_DOUBLED * bdp_bytes / factor)
        if choice.size_bytes == LEFT_TO_KERNEL and tuned and tuned[2] < needed_bytes:
            lines.append(f'net.ipv4.tcp_{name}="{tuned[0]} {tuned[1]} {_power(needed_bytes)}"')
        elif most is not None and most < choice.size_bytes:
            lines.append(f"net.core.{name}_max={choice.size_bytes}")
    return lines


def _has_room(setting: int | None, factor: float, bdp_bytes: int) -> bool:
    """Return whether a broker's buffer is large enough, or not known."""
    return setting is None or setting == LEFT_TO_KERNEL or setting * factor >= bdp_bytes


def _or_zero(size_bytes: int) -> int:
    """Return a size for librdkafka, in which 0 leaves it to the system."""
    return 0 if size_bytes == LEFT_TO_KERNEL else size_bytes


def _rounded(size_bytes: int, least: int, most: int) -> int:
    return min(max(_power(size_bytes), least), most)


def _power(size_bytes: int) -> int:
    """Return the least power of two that is not smaller."""
    return 1 << max(0, size_bytes - 1).bit_length()
