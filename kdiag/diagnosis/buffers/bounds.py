"""The bound of a transfer: the buffers of either end, the batches, or the fetches.

How it works. The bytes of each round trip are compared with the receiver's window, which the system
tells, and with the send buffer. The full one is the bound. If neither is full, the bound is the
path: the network, the broker, or this machine.

Example: 5.6 MB/s over 20 ms are 115 KB in each round trip; the broker's window has 127 KB: its
receive buffer holds it, whatever the client's is set to.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kdiag.diagnosis.buffers.ceiling import Bound, Ceiling
from kdiag.diagnosis.buffers.facts import LEFT_TO_KERNEL, BrokerPath, LoadDirection, LoadKind
from kdiag.diagnosis.buffers.trials import Trial

_FULL_WINDOW: Final = 0.7
_FULL_SEND_BUFFER: Final = 0.9
_FASTER: Final = 1.25
_JAVA: Final = "java"
_VERBS: Final = {LoadDirection.PRODUCE: "produces", LoadDirection.FETCH: "fetches"}
_TURNS: Final = {
    LoadDirection.PRODUCE: (Bound.BATCHES_IN_FLIGHT, "batch.size x max.in.flight"),
    LoadDirection.FETCH: (Bound.FETCH_SIZE, "what one fetch brings"),
}


class Bounds(NamedTuple):
    """The bounds of one direction.

    Attributes:
        direction: the direction of the records.
        defaults: the bound of Java's client with its defaults; None if the path is not known.
        kernel: the bound of runs with the client's buffers left to the kernel; None without any.
        sentences: the same for people.
    """

    direction: LoadDirection
    defaults: Bound | None
    kernel: Bound | None
    sentences: list[str]


def bounds(
    direction: LoadDirection,
    trials: Sequence[Trial],
    ceilings: Sequence[Ceiling],
    path: BrokerPath,
) -> Bounds:
    """Return the bounds of one direction.

    Args:
        direction: the direction of the records.
        trials: the trials; may be empty.
        ceilings: the predictions for clients with their defaults.
        path: the path to the broker.
    """
    mine = [each for each in trials if each.direction is direction]
    java = next((e for e in ceilings if e.client == _JAVA and e.direction is direction), None)
    full = _left_to_kernel(mine, LoadKind.FULL)
    held = None if full is None else bound_of(full, path)
    sentences = []
    if java is not None:
        sentences.append(_of_java(java))
    if full is not None and held is not None:
        sentences.append(
            f"With its buffers left to the kernel and enough on its way, a client "
            f"{_VERBS[direction]} {full.mb_per_s:.3g} MB/s, held by {_named(held, direction)}."
        )
        sentences += _next(direction, full, _left_to_kernel(mine, LoadKind.DEFAULTS))
    return Bounds(direction, None if java is None else java.bound_by, held, sentences)


def bound_of(trial: Trial, path: BrokerPath) -> Bound:
    """Return the bound of a trial with a full load."""
    assert path.rtt_ns
    moved_bytes = trial.bytes_per_round_trip(path.rtt_ns)
    is_produce = trial.direction is LoadDirection.PRODUCE
    sender, receiver = Bound.CLIENT_BUFFER, Bound.BROKER_BUFFER
    send_bytes = trial.effective_send_bytes
    if not is_produce:
        sender, receiver = receiver, sender
        send_bytes = path.config.send_buffer_bytes
    if trial.window_bytes and moved_bytes >= _FULL_WINDOW * trial.window_bytes:
        return receiver
    is_known = send_bytes is not None and send_bytes != LEFT_TO_KERNEL
    if is_known and moved_bytes >= _FULL_SEND_BUFFER * (send_bytes or 0):
        return sender
    return Bound.PATH


def _of_java(ceiling: Ceiling) -> str:
    """Return what Java's client reaches with its defaults; `--rate` is no limit of the path."""
    verb = _VERBS[ceiling.direction]
    if ceiling.bound_by is Bound.RATE:
        return (
            f"Java with its defaults {verb} the {ceiling.mb_per_s:.3g} MB/s to make room for "
            "(--rate) over this path: what it could do beyond that was not looked at."
        )
    return (
        f"Java with its defaults {verb} at most {ceiling.mb_per_s:.3g} MB/s over this path, held "
        f"by {_named(ceiling.bound_by, ceiling.direction)}."
    )


def _left_to_kernel(trials: Sequence[Trial], load: LoadKind) -> Trial | None:
    """Return the trial whose buffers were left to the kernel."""
    found = (e for e in trials if e.load is load and e.size_bytes == LEFT_TO_KERNEL)
    return next(found, None)


def _next(direction: LoadDirection, full: Trial, default: Trial | None) -> Iterator[str]:
    """Yield the next bound of a client that changes only its buffers."""
    if default is None or default.mb_per_s * _FASTER >= full.mb_per_s:
        return
    bound, turn = _TURNS[direction]
    yield (
        f"With default settings for all but its buffers it {_VERBS[direction]} "
        f"{default.mb_per_s:.3g} MB/s: {turn} in each round trip holds it then ({bound})."
    )


def _named(bound: Bound, direction: LoadDirection) -> str:
    """Return a bound in words."""
    is_produce = direction is LoadDirection.PRODUCE
    return {
        Bound.CLIENT_BUFFER: f"the client's {'send' if is_produce else 'receive'} buffer",
        Bound.BROKER_BUFFER: f"the broker's {'receive' if is_produce else 'send'} buffer",
        Bound.BATCHES_IN_FLIGHT: "batch.size x max.in.flight in each round trip",
        Bound.FETCH_SIZE: "what one fetch brings in each round trip",
        Bound.RATE: "the rate to make room for (--rate)",
        Bound.PATH: "none of the buffers, but the network, the broker or this machine",
    }[bound]
