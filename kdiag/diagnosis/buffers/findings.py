"""The findings on the path to a broker: the limits of throughput, and what to change."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.buffers.ceiling import RECEIVE_FACTOR, SEND_FACTOR, Bound, Ceiling
from kdiag.diagnosis.buffers.facts import (
    BYTES_PER_MB,
    LEFT_TO_KERNEL,
    BrokerPath,
    KernelLimits,
    LoadDirection,
    LoadKind,
    ProofRun,
)
from kdiag.findings.finding import Finding, found

_BITS: Final = 8
_LEAST_LOST: Final = 3
_LOST_SEGMENTS: Final = 0.001
_LARGE_BYTES: Final = 16 << 20  # a load is never much larger, whatever the path holds
_CYCLE_RULES: Final = {Bound.BATCHES_IN_FLIGHT: "KD6012", Bound.FETCH_SIZE: "KD6013"}
_STANDS_FOR_ALL: Final = {LoadDirection.PRODUCE: "java", LoadDirection.FETCH: "librdkafka"}
"""The client whose cycles are reported: its defaults are usual, its buffers are not the bound."""


class Measured(NamedTuple):
    """The measurements of one broker.

    Attributes:
        path: the path to it.
        runs: the runs of the proof; may be empty.
        limits: the limits of this machine's kernel.
        bits_per_s: the rate to make room for.
        sizes: the buffers that were to be tried.
    """

    path: BrokerPath
    runs: Sequence[ProofRun]
    limits: KernelLimits
    bits_per_s: int
    sizes: Sequence[int] = ()


def find(measured: Measured, ceilings: Iterable[Ceiling]) -> list[Finding]:
    """Return the findings on the path to a broker.

    Args:
        measured: the measurements of the broker.
        ceilings: the predictions for clients with their defaults.
    """
    path = measured.path
    if not path.rtt_ns or path.facts is None:
        return []
    findings = [*_lost_scaling(path)]
    if path.is_short:
        findings.append(found("KD6016", node_id=path.node_id, rtt_ms=_ms(path.rtt_ns)))
    else:
        findings += [*_broker_buffers(measured), *_cycles(measured, ceilings), *_kernel(measured)]
        if path.config.why_unknown is not None:
            findings.append(found("KD6019", node_id=path.node_id, why=path.config.why_unknown))
    return [*findings, *_of_runs(measured)]


def _lost_scaling(path: BrokerPath) -> Iterator[Finding]:
    """Find a lack of window scaling, if the system tells of the connection."""
    assert path.facts is not None
    if path.facts.send_mss is not None and path.facts.send_window_scale is None:
        yield found("KD6014", node_id=path.node_id, address=path.address)


def _broker_buffers(measured: Measured) -> Iterator[Finding]:
    """Find buffers of the broker that are smaller than the bytes that fill the path."""
    config, limits = measured.path.config, measured.limits
    for rule_id, setting, size, factor in (
        (
            "KD6010",
            config.receive_buffer_bytes,
            limits.receive_bytes(config.receive_buffer_bytes),
            RECEIVE_FACTOR,
        ),
        (
            "KD6011",
            config.send_buffer_bytes,
            limits.send_bytes(config.send_buffer_bytes),
            SEND_FACTOR,
        ),
    ):
        held = _needed_bytes(measured)
        if setting != LEFT_TO_KERNEL and size is not None and size * factor < held:
            rate = _mb_per_s(int(size * factor), measured)
            yield found(rule_id, **_evidence(measured), mb_per_s=rate, setting_bytes=setting)


def _cycles(measured: Measured, ceilings: Iterable[Ceiling]) -> Iterator[Finding]:
    """Find defaults of a client with too small request cycles."""
    for ceiling in ceilings:
        rule_id = _CYCLE_RULES.get(ceiling.bound_by)
        if rule_id is not None and ceiling.client == _STANDS_FOR_ALL[ceiling.direction]:
            yield found(
                rule_id,
                **_evidence(measured),
                mb_per_s=ceiling.mb_per_s,
                turn_bytes=ceiling.bound_bytes,
            )


def _kernel(measured: Measured) -> Iterator[Finding]:
    """Find limits of this kernel that keep its own buffers too small."""
    limits = measured.limits
    for which, tuned, factor in (
        ("send buffers (net.ipv4.tcp_wmem)", limits.tcp_wmem, SEND_FACTOR),
        ("receive buffers (net.ipv4.tcp_rmem)", limits.tcp_rmem, RECEIVE_FACTOR),
    ):
        if tuned is None:
            continue
        held_bytes = int(tuned[2] // 2 * factor)
        if held_bytes < _needed_bytes(measured):
            evidence = _evidence(measured)
            evidence["reached_mb_per_s"] = _mb_per_s(held_bytes, measured)
            yield found("KD6015", **evidence, which=which, most_bytes=tuned[2])


def _of_runs(measured: Measured) -> Iterator[Finding]:
    """Find disturbances of the proof: losses, quotas, too few records."""
    path, runs = measured.path, measured.runs
    sent = [run for run in runs if run.direction is LoadDirection.PRODUCE]
    moved_bytes = sum(run.total_bytes for run in sent)
    retransmits = sum(run.facts.retransmits or 0 for run in sent)
    segments = moved_bytes // ((path.facts.send_mss if path.facts else None) or 1)
    if retransmits >= _LEAST_LOST and retransmits >= _LOST_SEGMENTS * segments:
        yield found(
            "KD6017",
            **_evidence(measured),
            retransmits=retransmits,
            moved_mb=round(moved_bytes / BYTES_PER_MB),
        )
    throttled_ns = sum(run.throttled_ns for run in runs)
    if throttled_ns:
        yield found("KD6018", **_evidence(measured), throttled_ms=_ms(throttled_ns))
    load_bytes = min((run.load_bytes for run in runs if run.load is LoadKind.FULL), default=None)
    if load_bytes is not None and load_bytes < min(_needed_bytes(measured), _LARGE_BYTES):
        yield found("KD6020", **_evidence(measured), load_bytes=load_bytes)
    yield from _caps(runs)


def _caps(runs: Sequence[ProofRun]) -> Iterator[Finding]:
    """Find buffers that the kernel made smaller than they were set."""
    for which, sizes in (
        (
            "send buffers (net.core.wmem_max)",
            [(run.size_bytes, run.facts.effective_send_buffer_bytes) for run in runs],
        ),
        (
            "receive buffers (net.core.rmem_max)",
            [(run.size_bytes, run.facts.effective_receive_buffer_bytes) for run in runs],
        ),
    ):
        given = [effective for size, effective in sizes if size > effective]
        if given:
            yield found("KD6021", which=which, most_bytes=max(given))


def _evidence(measured: Measured) -> dict[str, Any]:
    """Return the evidence of all findings."""
    path = measured.path
    return {
        "node_id": path.node_id,
        "address": path.address,
        "rtt_ms": _ms(path.rtt_ns or 0),
        "needed_bytes": _needed_bytes(measured),
        "rate_mb_per_s": round(measured.bits_per_s / _BITS / BYTES_PER_MB, 1),
    }


def _needed_bytes(measured: Measured) -> int:
    return measured.path.bdp_bytes(measured.bits_per_s) or 0


def _mb_per_s(size: int, measured: Measured) -> float:
    """Return the rate with that many bytes in each round trip."""
    assert measured.path.rtt_ns
    return round(size * NS_PER_S / measured.path.rtt_ns / BYTES_PER_MB, 1)


def _ms(time_ns: int) -> float:
    digits = 1 if time_ns > NS_PER_MS else 2
    return round(time_ns / NS_PER_MS, digits)
