"""The run of `kdiag check`: connects, has the cluster checked, and prints what was seen."""

from functools import partial
from typing import Final

import typer

from kdiag.client.configured_client import timed_client
from kdiag.clock import Clock, SystemClock
from kdiag.diagnosis.check.judgement import judge
from kdiag.diagnosis.check.report import CheckPart
from kdiag.findings.rule import Severity
from kdiag.probe.check.run import check
from kdiag_cli.commands.check.options import CheckOptions, plan_of
from kdiag_cli.commands.check.text import document, plugin_result, print_rows
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.plugin import run_plugin
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import asking_ns, observing
from kdiag_cli.options.live import LiveOptions, client_config
from kdiag_cli.output.result import CommandResult, print_result

COMMAND: Final = "check"


def run(options: CheckOptions, live: LiveOptions) -> int:
    """Check, print, and return the exit code of the program.

    Raises:
        typer.BadParameter: if a name is empty.
    """
    for option, names in (("'--topic'", options.topics), ("'--group'", options.groups)):
        if not all(names):
            raise typer.BadParameter("a name is not empty", param_hint=option)
    if options.is_nagios:
        return run_plugin(lambda: plugin_result(check_cluster(options, live)), live.timeout_ns)
    return run_live(
        lambda: _print(check_cluster(options, live), options, live),
        live.timeout_ns,
        command=COMMAND,
        output=live.output,
    )


def check_cluster(
    options: CheckOptions, live: LiveOptions, clock: Clock | None = None
) -> CheckPart:
    """Return the report of a check.

    Raises:
        ConfigError: if the settings are wrong.
        CaptureError: if the file for `--write` cannot be written.
    """
    clock = clock or SystemClock()
    config = client_config(live)
    plan = plan_of(options, config, live.timeout_ns)
    with observing(live) as on_exchange:
        client, timed = timed_client(config, clock, on_exchange)
        with client:
            if live.timeout_ns is not None:  # so that there is time left to report what was seen
                client.deadline_ns = clock.monotonic_ns() + asking_ns(live.timeout_ns)
            report = judge(check(client, timed, plan))
    report.warnings[:0] = config.warnings
    return report


def exit_code(report: CheckPart, fail_on: Severity) -> ExitCode:
    """Return the exit code of a check: what keeps clients from the cluster counts most."""
    return exit_code_of(report.problems, report.findings, fail_on, is_partial=report.is_partial)


def _print(report: CheckPart, options: CheckOptions, live: LiveOptions) -> ExitCode:
    result = CommandResult(
        COMMAND,
        lambda: [document(row) for row in report.rows],
        partial(print_rows, rows=report.rows, has_headers=options.has_headers),
        report.warnings,
        report.findings,
    )
    print_result(result, live.output, is_wide=live.is_wide)
    return exit_code(report, options.fail_on)
