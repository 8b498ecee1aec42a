"""What is to be told of the buffers on the way to one broker: everything from what was measured."""

from typing import NamedTuple

from kdiag.diagnosis.buffers.advice import BufferAdvice, BufferPlan, advise
from kdiag.diagnosis.buffers.bounds import Bounds, bounds
from kdiag.diagnosis.buffers.ceiling import Ceiling, ceilings
from kdiag.diagnosis.buffers.facts import BrokerPath, KernelLimits, LoadDirection
from kdiag.diagnosis.buffers.findings import Measured, find
from kdiag.diagnosis.buffers.trials import BufferChoice, Trial, choose, summarize
from kdiag.findings.finding import Finding


class BufferReport(NamedTuple):
    """One broker.

    Attributes:
        path: the way to it.
        limits: of this machine's kernel.
        bdp_bytes: how many bytes are on their way at the rate to make room for; None if the round
            trip is not known.
        ceilings: how fast clients can go with their defaults.
        trials: what the proof showed; empty without one.
        send, receive: what to set the client's buffers to.
        bounds: what holds each direction.
        advice: lines to paste.
        findings: what is wrong.
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
    """Return what is to be told of a broker."""
    path, limits = measured.path, measured.limits
    predicted = ceilings(path, limits, measured.bits_per_s)
    trials = summarize(measured.runs, limits)
    send, receive = (choose(trials, each, measured.bits_per_s) for each in LoadDirection)
    bdp_bytes = path.bdp_bytes(measured.bits_per_s)
    wanted = BufferPlan(send, receive, bdp_bytes or 0, path.config, limits)
    return BufferReport(
        path=path,
        limits=limits,
        bdp_bytes=bdp_bytes,
        ceilings=predicted,
        trials=trials,
        send=send,
        receive=receive,
        bounds=[bounds(direction, trials, predicted, path) for direction in LoadDirection],
        advice=advise(wanted) if path.rtt_ns else [],
        findings=find(measured, predicted),
    )
