"""The report on the buffers of the path to one broker: predictions, trials, advice, findings."""

from typing import NamedTuple

from kdiag.diagnosis.buffers.advice import BufferAdvice, BufferPlan, advise
from kdiag.diagnosis.buffers.bounds import Bounds, bounds
from kdiag.diagnosis.buffers.ceiling import Ceiling, ceilings
from kdiag.diagnosis.buffers.facts import (
    LEFT_TO_KERNEL,
    BrokerPath,
    KernelLimits,
    LoadDirection,
)
from kdiag.diagnosis.buffers.findings import Measured, find
from kdiag.diagnosis.buffers.trials import BufferChoice, Trial, choose, choose_for_short, summarize
from kdiag.findings.finding import Finding


class BufferReport(NamedTuple):
    """The report on one broker.

    Attributes:
        path: the path to it.
        limits: the limits of this machine's kernel.
        bdp_bytes: the bytes in flight at the rate to make room for; None if the round trip is not
            known.
        ceilings: the predicted rates of clients with their defaults.
        trials: the results of the proof; empty without one.
        send, receive: the recommended sizes of the client's buffers.
        bounds: the bounds of each direction.
        advice: the lines to paste.
        findings: the problems.
    """

    path: BrokerPath
    limits: KernelLimits
    bdp_bytes: int | None
    ceilings: list[Ceiling]
    trials: list[Trial]
    send: BufferChoice
    receive: BufferChoice
    bounds: list[Bounds]
    advice: list[BufferAdvice]
    findings: list[Finding]


def report(measured: Measured) -> BufferReport:
    """Return the report on a broker."""
    path, limits = measured.path, measured.limits
    predicted = ceilings(path, limits, measured.bits_per_s)
    trials = summarize(measured.runs, limits)
    send, receive = (_choice(measured, trials, each) for each in LoadDirection)
    bdp_bytes = path.bdp_bytes(measured.bits_per_s)
    plan = BufferPlan(send, receive, bdp_bytes or 0, path.config, limits)
    return BufferReport(
        path=path,
        limits=limits,
        bdp_bytes=bdp_bytes,
        ceilings=predicted,
        trials=trials,
        send=send,
        receive=receive,
        bounds=[bounds(direction, trials, predicted, path) for direction in LoadDirection],
        advice=advise(plan) if path.rtt_ns else [],
        findings=find(measured, predicted),
    )


def _choice(measured: Measured, trials: list[Trial], direction: LoadDirection) -> BufferChoice:
    """Return the recommended size for one direction; over a short path no size is better."""
    choice = choose(trials, direction, measured.bits_per_s, measured.sizes)
    if measured.path.is_short and choice.size_bytes != LEFT_TO_KERNEL:
        return choose_for_short(direction)
    return choice
