from kdiag.diagnosis.buffers.facts import BrokerPath, LoadDirection
from kdiag.diagnosis.buffers.findings import Measured
from kdiag.diagnosis.buffers.report import report
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, make_path, make_run


def test_all_that_is_to_be_told_comes_from_what_was_measured() -> None:
    """Ceilings, trials, what to set, what holds, lines to paste and findings."""
    runs = [
        make_run(LoadDirection.PRODUCE, 64 * KIB, 3.5),
        make_run(LoadDirection.PRODUCE, KERNEL, 5.7, window_bytes=127_000),
    ]
    told = report(Measured(make_path(), runs, LIMITS, GBIT))

    assert told.bdp_bytes == 2_500_000
    assert len(told.ceilings) == 6
    assert [each.mb_per_s for each in told.trials] == [3.5, 5.7]
    assert (told.send.size_bytes, told.send.is_proven) == (KERNEL, True)
    assert (told.receive.size_bytes, told.receive.is_proven) == (KERNEL, False)
    assert [each.direction for each in told.bounds] == list(LoadDirection)
    assert [each.client for each in told.advice] == ["java", "librdkafka", "kafka-python", "broker"]
    assert [each.id for each in told.findings] == ["KD6010", "KD6011", "KD6012"]


def test_advice_over_a_short_path_does_not_contradict_its_finding() -> None:
    """Whatever a few runs over it have shown, as after an interruption."""
    runs = [make_run(LoadDirection.PRODUCE, 64 * KIB, 350)]
    told = report(Measured(make_path(0.1), runs, LIMITS, GBIT, (64 * KIB, KERNEL)))

    assert [each.id for each in told.findings] == ["KD6016"]
    assert (told.send.size_bytes, told.send.is_proven) == (KERNEL, False)
    lines = [line for each in told.advice for line in each.lines]
    assert "send.buffer.bytes=-1" in lines
    assert not [line for line in lines if "65536" in line]


def test_a_broker_that_cannot_be_reached_has_nothing_to_tell() -> None:
    """Neither a ceiling nor a line to paste."""
    told = report(Measured(BrokerPath(1, "far:9092"), (), LIMITS, GBIT))

    assert (told.bdp_bytes, told.ceilings, told.trials, told.advice) == (None, [], [], [])
    assert told.findings == []
