from kdiag.diagnosis.buffers.facts import KernelLimits, LoadDirection
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, MIB, MS, make_path, make_run


def test_the_kernel_caps_what_is_set() -> None:
    """By wmem_max and rmem_max."""
    assert LIMITS.send_bytes(64 * KIB) == 64 * KIB
    assert LIMITS.send_bytes(8 * MIB) == 4 * MIB
    assert LIMITS.receive_bytes(8 * MIB) == 4 * MIB


def test_what_is_left_to_the_kernel_counts_half() -> None:
    """It doubles sizes that are set, so that of its own 4 MiB are as good as 2 MiB that are set."""
    assert LIMITS.send_bytes(KERNEL) == 2 * MIB
    assert LIMITS.receive_bytes(KERNEL) == 16 * MIB


def test_nothing_is_known_of_a_kernel_that_tells_nothing() -> None:
    """What is set is taken as it is, and what nobody knows stays unknown."""
    silent = KernelLimits()
    assert silent.send_bytes(64 * KIB) == 64 * KIB
    assert silent.send_bytes(KERNEL) is None
    assert LIMITS.receive_bytes(None) is None


def test_the_bandwidth_delay_product_is_what_is_on_its_way() -> None:
    """A gigabit for 20 ms is 2.5 MB."""
    assert make_path(20).bdp_bytes(GBIT) == 2_500_000
    assert make_path()._replace(rtt_ns=None).bdp_bytes(GBIT) is None


def test_a_path_below_a_millisecond_is_short() -> None:
    """One that nobody measured is not."""
    assert make_path(0.9).is_short
    assert not make_path(1).is_short
    assert not make_path()._replace(rtt_ns=None).is_short


def test_a_run_has_a_rate() -> None:
    """In 10**6 bytes per second; one without time has none."""
    run = make_run(LoadDirection.PRODUCE, KERNEL, 12.5)
    assert run._replace(time_ns=500 * MS).mb_per_s == 25
    assert run._replace(time_ns=0).mb_per_s == 0
