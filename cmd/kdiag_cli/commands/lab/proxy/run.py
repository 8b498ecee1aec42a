"""`kdiag lab proxy`: start the proxy, say where it is, and wait for the end.

    kdiag: proxy: broker 1 at kafka1:9092 is 127.0.0.1:40001; Ctrl-C ends it
    bootstrap.servers=127.0.0.1:40001

With `-o jsonl` stdout has an event a line: `ready`, `warning`, `stopped`.
"""

import logging
import os
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.clock import SystemClock
from kdiag.errors import ConnectError
from kdiag.lab.fault.fault_book import FaultBook, fault_document
from kdiag.lab.fault.rule import FaultRule
from kdiag.lab.proxy.proxy_server import ProxyServer, ProxySettings
from kdiag.net.address import host_and_port
from kdiag_cli.commands.lab.faults.options import OpenControl, book_of, open_control
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.run import run_live
from kdiag_cli.options.live import LiveOptions, client_config
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.terminal import Output, say

COMMAND: Final = "lab proxy"


class ProxyOptions(NamedTuple):
    """The options of `kdiag lab proxy`.

    Attributes:
        host: where it listens.
        port: for the first broker; 0 for any that are free.
        capture: records the traffic.
        faults: what goes wrong from the beginning.
        control_port: where faults can be added; None for nowhere.
        is_json: whether events are printed as JSON, one a line.
    """

    host: str
    port: int = 0
    capture: Path | None = None
    faults: tuple[FaultRule, ...] = ()
    control_port: int | None = None
    is_json: bool = False


class _ProxyReporter(logging.Handler):
    """Tells a person or a program what goes on."""

    def __init__(self, options: ProxyOptions) -> None:
        super().__init__(logging.WARNING)
        self._options = options
        self._output = Output()

    def emit(self, record: logging.LogRecord) -> None:
        """Tell a line of the log."""
        text = record.getMessage().replace("\n", " ")
        if self._options.is_json:
            self._print("warning", message=text)
        else:
            say(text)

    def tell_ready(self, proxy: ProxyServer, control: OpenControl | None) -> None:
        """Tell where the proxy is."""
        nodes = [
            (node_id, host_and_port(*proxy.addresses.broker_at(node_id)), port)
            for node_id, port in sorted(proxy.addresses.ports.items())
        ]
        host = self._options.host
        if self._options.is_json:
            told = [
                {"node_id": node_id, "host": host, "port": port, "broker": place}
                for node_id, place, port in nodes
            ]
            self._print(
                "ready",
                bootstrap=proxy.bootstrap,
                nodes=told,
                pid=os.getpid(),
                control=control and control.address,
                control_token=control and str(control.token_file),
            )
            return
        for node_id, place, port in nodes:
            say(f"proxy: broker {node_id} at {place} is {host_and_port(host, port)}")
        self._output.line(f"bootstrap.servers={proxy.bootstrap}")
        if control is not None:
            say(f"control port: its token is in {control.token_file}")
            self._output.line(f"control={control.address}")
        self._output.flush()

    def tell_end(self, proxy: ProxyServer, book: FaultBook | None) -> None:
        """Tell that it ends, what faults did, and what was not understood."""
        faults = [] if book is None else book.listed()
        relay = proxy.relay
        if self._options.is_json:
            told: dict[str, Any] = {"requests": relay.request_count}
            told["not_understood"] = relay.passed_count
            if faults:
                told["faults"] = [fault_document(each) for each in faults]
            self._print("stopped", **told)
            return
        for each in faults:
            say(f"fault {each.rule.text}: seen {each.seen_count}, fired {each.fired_count}")
        passed = f", {relay.passed_count} not understood" if relay.passed_count else ""
        say(f"{relay.request_count} requests have passed{passed}")

    def _print(self, event: str, **fields: Any) -> None:
        document = {"event": event, "schema": 1, **fields}
        print_json(self._output, msgspec.json.encode(document), is_line=True)
        self._output.flush()


def run_proxy(options: ProxyOptions, live: LiveOptions, stop: Event | None = None) -> ExitCode:
    """Run a proxy until it is interrupted, and return the exit code of the program.

    Args:
        options: what it is asked for.
        live: the cluster.
        stop: ends it, too.

    Raises:
        KeyboardInterrupt: if it was interrupted; nothing is left then.
    """
    return run_live(lambda: _run(options, live, stop or Event()), command=COMMAND)


def _run(options: ProxyOptions, live: LiveOptions, stop: Event) -> ExitCode:
    reporter = _ProxyReporter(options)
    logger = logging.getLogger("kdiag")
    with ExitStack() as closing:
        logger.addHandler(reporter)
        closing.callback(logger.removeHandler, reporter)
        clock = SystemClock()
        config = client_config(live)
        say(*config.warnings)
        book = book_of(options.faults, options.control_port)
        settings = ProxySettings(options.host, options.port, book)
        if options.capture is not None:
            from kdiag.lab.broker.traffic_recorder import TrafficRecorder  # noqa: PLC0415 - 5 ms

            recorder = closing.enter_context(TrafficRecorder(options.capture, clock))
            settings = settings._replace(recorder=recorder)
        try:
            control = open_control(closing, book, options.control_port)
        except ConnectError as error:
            say(str(error), error.fix)
            return ExitCode.USAGE
        proxy = closing.enter_context(ProxyServer(config, settings, clock))
        reporter.tell_ready(proxy, control)
        try:
            stop.wait()
        finally:
            reporter.tell_end(proxy, book)
    return ExitCode.DONE
