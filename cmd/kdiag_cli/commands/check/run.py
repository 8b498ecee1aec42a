"""`kdiag check`: makes the connections, has the cluster checked, and prints what was seen."""

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from kdiag.client.config.load import ClientConfig
from kdiag.client.configured_client import timed_client
from kdiag.clock import NS_PER_MS, Clock, SystemClock
from kdiag.diagnosis.check.judgement import judge
from kdiag.diagnosis.check.report import CheckPart
from kdiag.findings.rule import Severity
from kdiag.probe.check.run import LIMIT_NS, CheckPlan, check
from kdiag_cli.commands.check.text import document, print_rows
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import observing
from kdiag_cli.options.live import LiveOptions, client_config
from kdiag_cli.output.result import Result, print_result

COMMAND: Final = "check"
_SETUP_TIMEOUT: Final = "socket.connection.setup.timeout.ms"
_SUBJECTS: Final = ("unsecuredLoginStringClaim_sub",)


class Wanted(NamedTuple):
    """What to check, and how to tell it.

    Attributes:
        topics: asked about by name.
        group: whose coordinator to look for.
        is_quick: whether to end with the first answer.
        is_nagios: whether to print one status line instead.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether a table has a line of column names.
    """

    topics: Sequence[str]
    group: str | None
    is_quick: bool
    is_nagios: bool
    fail_on: Severity
    has_headers: bool


def run(wanted: Wanted, options: LiveOptions) -> int:
    """Check, print, and return the exit code of the program."""
    if wanted.is_nagios:
        from kdiag_cli.commands.check.nagios import run_plugin  # noqa: PLC0415 - few are asked for it

        return run_plugin(lambda: seen(wanted, options), options.timeout_ns)
    return run_live(
        lambda: _print(seen(wanted, options), wanted, options),
        options.timeout_ns,
        command=COMMAND,
        output=options.output,
    )


def seen(wanted: Wanted, options: LiveOptions, clock: Clock | None = None) -> CheckPart:
    """Return what a check of the cluster says that options name.

    Raises:
        ConfigError: if the settings are wrong.
        CaptureError: if the file for `--write` cannot be written.
    """
    clock = clock or SystemClock()
    config = client_config(options)
    plan = CheckPlan(
        topics=tuple(dict.fromkeys(wanted.topics)),
        group=wanted.group,
        is_quick=wanted.is_quick,
        limit_ns=_limit_ns(config, options.timeout_ns),
        has_tls=config.has_tls,
        login=login_text(config),
    )
    with observing(options) as on_exchange:
        client, timed = timed_client(config, clock, on_exchange)
        with client:
            if options.timeout_ns is not None:  # so that there is time left to tell what was seen
                client.deadline_ns = clock.monotonic_ns() + options.timeout_ns * 9 // 10
            report = judge(check(client, timed, plan))
    report.warnings[:0] = config.warnings
    return report


def exit_code(report: CheckPart, fail_on: Severity) -> ExitCode:
    """Return how a check ends: what kept clients from the cluster counts most."""
    return exit_code_of(report.problems, report.findings, fail_on, is_partial=report.is_partial)


def login_text(config: ClientConfig) -> str | None:
    """Return the mechanism and the user; None without SASL. It holds no secret."""
    sasl = config.sasl
    if sasl is None:
        return None
    if sasl.is_delegation_token:
        return f"{sasl.mechanism} with delegation token {sasl.username}"
    subject = next((sasl.unsecured[each] for each in _SUBJECTS if each in sasl.unsecured), None)
    user = sasl.username or subject
    return f"{sasl.mechanism} as {user}" if user else sasl.mechanism


def _limit_ns(config: ClientConfig, timeout_ns: int | None) -> int:
    """Return how long one round of connections may take."""
    limit_ns = LIMIT_NS
    if config.values.setting(_SETUP_TIMEOUT) is not None:
        limit_ns = config.socket_connection_setup_timeout_ms * NS_PER_MS
    return limit_ns if timeout_ns is None else min(limit_ns, timeout_ns * 8 // 10)


def _print(report: CheckPart, wanted: Wanted, options: LiveOptions) -> ExitCode:
    result = Result(
        COMMAND,
        lambda: [document(row) for row in report.rows],
        partial(print_rows, rows=report.rows, has_headers=wanted.has_headers),
        report.warnings,
        report.findings,
    )
    print_result(result, options.output, is_wide=options.is_wide)
    return exit_code(report, wanted.fail_on)
