"""`kdiag lab`: start the lab, say where it is, and wait for the end.

    kdiag: lab: one broker, as Kafka 4.3, data in a temporary folder; Ctrl-C ends it
    kdiag: client settings: /tmp/kdiag-lab-x1/client.properties
    bootstrap.servers=127.0.0.1:39211

What goes on is said on stderr: warnings in one line each, and on a terminal the state. With
`-o jsonl` stdout has an event a line, and stderr nothing.
"""

import logging
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Final

import typer

from kdiag.clock import SystemClock
from kdiag.errors import ConnectError, KdiagError
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.broker.lab_status import status_of
from kdiag.lab.broker.seed_records import seed_records
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.controller.state_file import make_folder
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.security.users import UserStore
from kdiag_cli.commands.lab.access import LabAccess, make_access, write_client_files
from kdiag_cli.commands.lab.events import EventPrinter
from kdiag_cli.commands.lab.faults.options import OpenControl, book_of, open_control
from kdiag_cli.commands.lab.options import LabOptions
from kdiag_cli.commands.lab.screen import LabScreen
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import Output, say

SEEDED: Final = NewTopic("orders", 3)
"""The topic that gets records where none was asked for."""

_CLIENT_FOLDER: Final = "client"
_SCREEN_EVERY_S: Final = 0.5
_EVENT_EVERY_S: Final = 1.0


class _LogLines(logging.Handler):
    """Says what the lab logs, a line each."""

    def __init__(self, reporter: "_Reporter") -> None:
        super().__init__(logging.WARNING)
        self._reporter = reporter

    def emit(self, record: logging.LogRecord) -> None:
        """Say one."""
        self._reporter.warn(record.getMessage().replace("\n", " "))


class _Reporter:
    """Tells a person or a program what goes on."""

    def __init__(self, options: LabOptions, output: Output) -> None:
        self._options = options
        self._output = output
        self._events = EventPrinter(output) if options.is_json else None
        self._screen = LabScreen(SystemClock())

    @property
    def every_s(self) -> float | None:
        """Return how often the state is told; None is never."""
        if self._events is not None:
            return _EVENT_EVERY_S
        return _SCREEN_EVERY_S if self._screen.is_shown else None

    def warn(self, text: str) -> None:
        """Print a warning or a line of the log; from any thread."""
        if self._events is not None:
            self._events.print_warning(text)
        else:
            self._screen.say(text)

    def tell_ready(
        self, lab: LabCluster, access: LabAccess, files: list[Path], control: OpenControl | None
    ) -> None:
        """Tell where the lab is."""
        if self._events is not None:
            self._events.print_ready(lab, access, files, self._options, control)
            return
        folder = self._options.folder
        place = "a temporary folder" if folder is None else str(folder)
        count = len(lab.nodes)
        brokers = "one broker" if count == 1 else f"{count} brokers"
        say(f"lab: {brokers}, as Kafka {self._options.release}, data in {place}; Ctrl-C ends it")
        for listener, file in zip(access.listeners, files, strict=True):
            say(f"{listener.protocol} at {lab.bootstrap_of(listener.protocol)}, settings in {file}")
        self._output.line(f"bootstrap.servers={lab.bootstrap}")
        if control is not None:
            say(f"control port: its token is in {control.token_file}")
            self._output.line(f"control={control.address}")
        self._output.flush()

    def tell_status(self, lab: LabCluster) -> None:
        """Tell what goes on."""
        if self._events is not None:
            self._events.print_status(status_of(lab))
        else:
            self._screen.show(status_of(lab))

    def tell_end(self, book: FaultBook | None) -> None:
        """Tell that it ends, and what faults did."""
        faults = [] if book is None else book.listed()
        if self._events is not None:
            self._events.print_stopped(faults)
            return
        self._screen.clear()
        for each in faults:
            say(f"fault {each.rule.text}: seen {each.seen_count}, fired {each.fired_count}")


def run_lab(options: LabOptions, stop: Event | None = None) -> None:
    """Run a lab until it is interrupted.

    Args:
        options: what it is asked for.
        stop: ends it, too.

    Raises:
        typer.Exit: if it cannot be started.
        KeyboardInterrupt: if it was interrupted; nothing is left then.
    """
    reporter = _Reporter(options, Output())
    lines = _LogLines(reporter)
    logger = logging.getLogger("kdiag")
    logger.addHandler(lines)
    try:
        with ExitStack() as closing:
            book = book_of(options.faults, options.control_port)
            lab = _start(options, reporter, closing, book)
            try:
                _wait(lab, reporter, stop or Event())
            finally:
                reporter.tell_end(book)
    except KdiagError as error:
        fix = error.fix if isinstance(error, ConnectError) else ""
        say(f"cannot start the lab: {error}", *filter(None, [fix]))
        raise typer.Exit(ExitCode.USAGE) from None
    finally:
        logger.removeHandler(lines)


def _start(
    options: LabOptions, reporter: _Reporter, closing: ExitStack, book: FaultBook | None
) -> LabCluster:
    """Return a lab that runs, and tell where it is."""
    clock = SystemClock()
    access = make_access(options, _client_folder(options, closing), clock)
    topics = options.topics or ((SEEDED,) if options.seed_count else ())
    settings = LabSettings(
        topics,
        options.host,
        options.port,
        options.folder,
        options.release,
        listeners=access.listeners,
        users=UserStore(access.users),
        group_config=options.group_config,
        faults=book,
        node_count=options.node_count,
        replication=options.replication_config,
        session_timeout_ns=options.session_timeout_ns,
    )
    if options.capture is not None:
        from kdiag.lab.broker.traffic_recorder import TrafficRecorder  # noqa: PLC0415 - 5 ms

        recorder = closing.enter_context(TrafficRecorder(options.capture, clock))
        settings = settings._replace(recorder=recorder)
    lab = closing.enter_context(LabCluster(settings))
    files = write_client_files(lab, access)
    if options.seed_count:
        seed_records(lab, options.seed_count, clock)
    control = open_control(closing, book, options.control_port, lab, access.folder)
    reporter.tell_ready(lab, access, files, control)
    for listener in access.listeners:
        for mechanism in listener.unchecked_mechanisms:
            reporter.warn(
                f"warning: {mechanism} at {lab.bootstrap_of(listener.protocol)} checks nothing: it "
                "accepts unsigned tokens, so any client can log in as any user"
            )
    return lab


def _wait(lab: LabCluster, reporter: _Reporter, stop: Event) -> None:
    """Wait for the end, and tell meanwhile what goes on."""
    every_s = reporter.every_s
    while not stop.is_set():
        if every_s is not None:
            reporter.tell_status(lab)
        stop.wait(every_s)


def _client_folder(options: LabOptions, closing: ExitStack) -> Path:
    """Return a folder for the settings of clients, which is there.

    Raises:
        ConfigError: if it cannot be made.
    """
    folder = options.client_folder
    if folder is None and options.folder is not None:
        folder = options.folder / _CLIENT_FOLDER
    if folder is None:
        return Path(closing.enter_context(TemporaryDirectory(prefix="kdiag-lab-client-")))
    make_folder(folder)
    return folder.resolve()
