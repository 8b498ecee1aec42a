from kdiag.diagnosis.buffers.advice import BufferPlan, advise, batch_bytes, fetch_bytes
from kdiag.diagnosis.buffers.facts import BrokerConfig, KernelLimits
from kdiag.diagnosis.buffers.trials import BufferChoice
from made_values.buffer_cases import KERNEL, KIB, LIMITS, MIB

LEFT = BufferChoice(KERNEL, "so", within_noise=True, is_proven=True)
SET = LEFT._replace(size_bytes=8 * MIB, within_noise=False)
WANTED = BufferPlan(LEFT, LEFT, 2_500_000, BrokerConfig(102400, 102400), LIMITS)


def lines(wanted: BufferPlan) -> dict[str, list[str]]:
    """Return the lines by place."""
    return {each.client: each.lines for each in advise(wanted)}


def test_what_is_left_to_the_kernel_is_said_in_each_clients_way() -> None:
    """-1 for Java and brokers, 0 for librdkafka, nothing for kafka-python."""
    told = lines(WANTED)

    assert {"send.buffer.bytes=-1", "receive.buffer.bytes=-1"} <= set(told["java"])
    assert {"socket.send.buffer.bytes=0", "socket.receive.buffer.bytes=0"} <= set(
        told["librdkafka"]
    )
    assert "socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]" in told["kafka-python"]
    assert "batch_size=524288" in told["kafka-python"]
    assert told["broker"] == ["socket.send.buffer.bytes=-1", "socket.receive.buffer.bytes=-1"]


def test_sizes_are_said_in_each_clients_way() -> None:
    """kafka-python gets them as options, as it applies its own settings to nothing."""
    told = lines(WANTED._replace(send=SET, receive=SET))

    assert "send.buffer.bytes=8388608" in told["java"]
    assert "socket.receive.buffer.bytes=8388608" in told["librdkafka"]
    (options,) = (each for each in told["kafka-python"] if each.startswith("socket_options="))
    assert "(socket.SOL_SOCKET, socket.SO_SNDBUF, 8388608)" in options
    assert "(socket.SOL_SOCKET, socket.SO_RCVBUF, 8388608)" in options
    assert told["sysctl"] == ["net.core.wmem_max=8388608", "net.core.rmem_max=8388608"]


def test_brokers_with_room_are_left_alone() -> None:
    """With -1, with enough, and where nobody knows."""
    for config in (BrokerConfig(KERNEL, KERNEL), BrokerConfig(3 * MIB, 3 * MIB), BrokerConfig()):
        assert "broker" not in lines(WANTED._replace(config=config))


def test_the_kernel_is_to_allow_what_the_path_needs() -> None:
    """It keeps two bytes for each that is set, of which 1.5 are in flight."""
    assert "sysctl" not in lines(WANTED)
    far = lines(WANTED._replace(bdp_bytes=10_000_000))
    assert far["sysctl"] == ['net.ipv4.tcp_wmem="4096 16384 16777216"']
    assert "sysctl" not in lines(WANTED._replace(bdp_bytes=10_000_000, limits=KernelLimits()))


def test_batches_and_fetches_fill_the_path() -> None:
    """Powers of two, never less than the defaults, never more than brokers take."""
    assert [batch_bytes(each) for each in (0, 500_000, 1 << 30)] == [
        16 * KIB,
        128 * KIB,
        512 * KIB,
    ]
    assert batch_bytes(1 << 30, 100_000) == 100_000
    assert batch_bytes(100_000, in_flight=1) == 128 * KIB
    assert [fetch_bytes(each) for each in (0, 2_500_000, 1 << 30)] == [MIB, 16 * MIB, 50 * MIB]
