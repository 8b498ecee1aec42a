"""The session of a live command with a cluster: opened, traced and recorded as options say."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.configured_client import configured_client
from kdiag.clock import NS_PER_MS, Clock, SystemClock
from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import Exchange
from kdiag_cli.live.debug_log import debug_log
from kdiag_cli.options.live import LiveOptions, client_config
from kdiag_cli.output.terminal import Output, can_write_over, say, write_over

OnExchange = Callable[[Exchange], None]

_TO_PRINT_NS: Final = 200 * NS_PER_MS


@contextmanager
def live_session(
    options: LiveOptions,
    clock: Clock | None = None,
    *,
    on_exchange: OnExchange | None = None,
    connects: bool = True,
    is_endless: bool = False,
) -> Iterator[ClusterClient]:
    """Open a client that knows its cluster.

    Args:
        options: as they were given.
        clock: all times are its own; the system's by default.
        on_exchange: receives every exchange.
        connects: whether it asks for its cluster; else it knows only the bootstrap servers.
        is_endless: whether results are printed as they come; others end before the time is up, so
            that what is known by then is printed.

    Raises:
        ConfigError: if the settings are wrong.
        ConnectError: if no broker can be reached.
        CaptureError: if the file for `--write` cannot be written.
    """
    clock = clock or SystemClock()
    config = client_config(options)
    say(*config.warnings)
    with (
        observing(options, on_exchange) as receiver,
        configured_client(config, clock, receiver) as client,
    ):
        client.updater.rebootstrapping.report = _report
        early_ns = None
        if options.timeout_ns is not None:
            now_ns = clock.monotonic_ns()
            early_ns = now_ns + asking_ns(options.timeout_ns)
            client.deadline_ns = now_ns + options.timeout_ns if is_endless else early_ns
        if connects:
            client.connect(early_ns)
        yield client


def asking_ns(timeout_ns: int) -> int:
    """Return for how long brokers are asked; the rest of the time is for printing.

    That is a tenth, and 200 ms at least where there are so many: modules are loaded, too.
    """
    return timeout_ns - max(timeout_ns // 10, min(_TO_PRINT_NS, timeout_ns // 2))


def _report(line: str) -> None:
    """Say what a client reports by itself, in place of a line of status."""
    if can_write_over(sys.stderr):
        write_over()
    say(line)


@contextmanager
def observing(
    options: LiveOptions, on_exchange: OnExchange | None = None
) -> Iterator[OnExchange | None]:
    """Yield the receiver of every exchange; None if nobody wants them.

    Args:
        options: as they were given.
        on_exchange: receives them as well.

    Raises:
        CaptureError: if the file for `--write` cannot be written.
    """
    with ExitStack() as opened:
        if options.debug:
            opened.enter_context(debug_log())
        listeners = [*_listeners(options, opened), *([on_exchange] if on_exchange else [])]

        def hand_on(exchange: Exchange) -> None:
            for listener in listeners:
                listener(exchange)

        yield hand_on if listeners else None


def _listeners(options: LiveOptions, opened: ExitStack) -> Iterator[OnExchange]:
    """Yield the receivers that the options ask for."""
    if options.write is not None:
        from kdiag.pcap.writer.exchange_writer import ExchangeWriter  # noqa: PLC0415 - 10 ms

        writer = ExchangeWriter(options.write)
        recording = _WrittenExchanges(options.write, writer.write)
        opened.callback(recording.say)  # after the writer is closed
        opened.enter_context(writer)
        yield recording.write
    if options.trace:
        from kdiag_cli.live.trace import Trace  # noqa: PLC0415 - 20 ms

        yield opened.enter_context(Trace(Output(sys.stderr))).exchange
    if options.debug:
        yield lambda _: None  # so that logins are observed, and logged


class _WrittenExchanges:
    """Counts the exchanges that are written to a capture, and says so at the end."""

    def __init__(self, path: Path, write: OnExchange) -> None:
        self._path = path
        self._write = write
        self._count = 0

    def write(self, exchange: Exchange) -> None:
        """Write an exchange."""
        self._write(exchange)
        self._count += 1

    def say(self) -> None:
        """Say how many were written, and how they are read."""
        say(f"wrote {count(self._count, 'exchange')} to {self._path}: kdiag decode {self._path}")
