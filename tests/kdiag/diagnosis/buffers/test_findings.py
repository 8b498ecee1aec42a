from kdiag.diagnosis.buffers.ceiling import ceilings
from kdiag.diagnosis.buffers.facts import (
    BrokerConfig,
    BrokerPath,
    KernelLimits,
    LoadDirection,
    LoadKind,
    ProofRun,
)
from kdiag.diagnosis.buffers.findings import Measured, find
from kdiag.findings.finding import RULES, Finding
from made_values.buffer_cases import GBIT, KERNEL, LIMITS, MIB, MS, make_path, make_run

WIDE = make_path(send=KERNEL, receive=KERNEL)
FREE = KernelLimits(
    wmem_max=64 * MIB,
    rmem_max=64 * MIB,
    tcp_wmem=(4096, 16384, 64 * MIB),
    tcp_rmem=(4096, 16384, 64 * MIB),
)


def findings(
    path: BrokerPath, *runs: ProofRun, limits: KernelLimits = FREE, bits_per_s: int = GBIT
) -> list[Finding]:
    """Return what is found, but for what holds clients with their defaults."""
    return find(Measured(path, runs, limits, bits_per_s), [])


def ids(path: BrokerPath, *runs: ProofRun) -> list[str]:
    """Return the ids of the same."""
    return [each.id for each in findings(path, *runs)]


def test_nothing_is_wrong_with_buffers_that_can_grow() -> None:
    """At both ends."""
    assert ids(WIDE, make_run(LoadDirection.PRODUCE, KERNEL, 100)) == []


def test_brokers_buffers_that_are_set_too_small_are_found() -> None:
    """With the rate that they allow, and what the path needs."""
    receive, send = findings(make_path())

    assert (receive.id, send.id) == ("KD6010", "KD6011")
    assert "down to 5.7 MB/s" in receive.title
    assert "socket.receive.buffer.bytes=102400, round trip 20.0 ms" in receive.title
    assert "down to 7.7 MB/s" in send.title
    assert "or 2500000 or more for 125.0 MB/s" in send.fix


def test_a_lower_rate_is_content_with_less() -> None:
    """102400 bytes are enough for 40 Mbit/s over 20 ms."""
    assert findings(make_path(), bits_per_s=40_000_000) == []


def test_clients_defaults_are_found_where_they_hold() -> None:
    """Once buffers do not: 5 batches of 16 KiB, and fetches of 1 MiB."""
    predicted = ceilings(WIDE, FREE, GBIT)
    batches, fetches = find(Measured(WIDE, (), FREE, GBIT), predicted)

    assert (batches.id, fetches.id) == ("KD6012", "KD6013")
    assert "81920 bytes in each round trip" in batches.title
    assert "1048576 bytes of one partition" in fetches.title


def test_lost_window_scaling_is_found() -> None:
    """Where the system tells of the connection at all."""
    assert WIDE.facts is not None
    lost = WIDE.facts._replace(send_window_scale=None, receive_window_scale=None)

    assert ids(WIDE._replace(facts=lost)) == ["KD6014"]
    assert ids(WIDE._replace(facts=lost._replace(send_mss=None))) == []


def test_a_kernel_that_allows_too_little_is_found() -> None:
    """Over 20 ms 4 MiB are enough for a gigabit, over 80 ms they are not."""
    assert findings(WIDE, limits=LIMITS) == []
    (found,) = findings(make_path(80, send=KERNEL, receive=KERNEL), limits=LIMITS)

    assert found.id == "KD6015"
    assert "lets send buffers (net.ipv4.tcp_wmem) grow to 4194304 bytes" in found.title
    assert found.evidence["reached_mb_per_s"] == 39.3


def test_on_a_short_path_buffers_are_no_subject() -> None:
    """Whatever they are set to; loopback misleads."""
    (found,) = findings(make_path(0.05))
    assert found.id == "KD6016"
    assert "loopback misleads" in RULES[found.id].explanation


def test_losses_and_quotas_are_found() -> None:
    """What was measured then is not the path alone."""
    lossy = make_run(LoadDirection.PRODUCE, KERNEL, 10, retransmits=50)
    throttled = make_run(LoadDirection.FETCH, KERNEL, 10, throttled_ns=300 * MS)
    unlucky = make_run(LoadDirection.PRODUCE, KERNEL, 100, retransmits=5)

    assert ids(WIDE, lossy, throttled) == ["KD6017", "KD6018"]
    assert ids(WIDE, unlucky) == []


def test_a_topic_with_too_little_is_found() -> None:
    """The path was never full."""
    run = make_run(LoadDirection.FETCH, KERNEL, 10)._replace(load_bytes=30_000)
    (found,) = findings(WIDE, run)

    assert found.id == "KD6020"
    assert "30000 bytes were on their way, of 2500000" in found.title
    assert ids(WIDE, run._replace(load=LoadKind.DEFAULTS)) == []


def test_what_the_kernel_does_not_give_is_found() -> None:
    """It says nothing to who asks for more than net.core.wmem_max."""
    run = make_run(LoadDirection.PRODUCE, 4 * MIB, 10)
    capped = run.facts._replace(send_buffer_bytes=425984)
    (found,) = findings(WIDE, run._replace(facts=capped))

    assert found.id == "KD6021"
    assert "no more than 212992 bytes to send buffers" in found.title


def test_a_broker_that_does_not_tell_its_settings_is_told() -> None:
    """Its buffers may be what holds the path."""
    config = BrokerConfig(why_unknown="CLUSTER_AUTHORIZATION_FAILED")
    (found,) = findings(WIDE._replace(config=config))

    assert found.id == "KD6019"
    assert "CLUSTER_AUTHORIZATION_FAILED" in found.title


def test_nothing_is_found_on_a_path_that_nobody_knows() -> None:
    """The broker could not be reached."""
    assert ids(BrokerPath(1, "far:9092")) == []
