"""The run of `kdiag rebalance explain`: reads the sources, tells what made groups rebalance."""

import sys

from kdiag.diagnosis.rebalance import findings as rebalance_findings
from kdiag.diagnosis.rebalance.joining import join_histories
from kdiag.diagnosis.rebalance.model import GroupHistory
from kdiag.findings.finding import Finding
from kdiag_cli.captures.reading import run_on_captures
from kdiag_cli.commands.rebalance.document import document
from kdiag_cli.commands.rebalance.options import COMMAND, ExplainOptions
from kdiag_cli.commands.rebalance.page import write_rebalance_page
from kdiag_cli.commands.rebalance.sources import Explained, read_sources
from kdiag_cli.commands.rebalance.text import print_histories
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.run import run_live
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.findings import say_findings
from kdiag_cli.output.pages.html_page import require_drawer
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.terminal import Output, say


def run(options: ExplainOptions, live: LiveOptions) -> ExitCode:
    """Explain the rebalances of captures, logs and records; return the exit code."""
    if not options.is_cluster_asked:
        return run_on_captures(lambda: _run(options, live))
    return run_live(
        lambda: _run(options, live), live.timeout_ns, command=COMMAND, output=live.output
    )


def _run(options: ExplainOptions, live: LiveOptions) -> ExitCode:
    if options.html is not None:
        require_drawer()
    explained = read_sources(options, live)
    histories, contradictions = join_histories(explained.histories)
    chosen = [each for each in histories if not options.groups or each.group in options.groups]
    findings = rebalance_findings.find_all(chosen)
    warnings = [*explained.warnings, *contradictions, *_absences(options, histories, chosen)]
    output = Output(sys.stdout, is_wide=live.is_wide)
    if live.output is ResultFormat.JSON:
        data = [document(each, options.generation) for each in chosen]
        print_document(output, COMMAND, data, warnings=warnings, findings=findings)
    else:
        print_histories(output, chosen, options.generation, has_headers=options.has_headers)
    output.flush()
    if options.html is not None:
        write_rebalance_page(options.html, chosen, findings, warnings)
    if explained.capture is not None:
        explained.capture.say_warnings()
    if live.output is ResultFormat.TABLE:
        say_findings(findings, warnings)
    else:
        say(*warnings)
    return _exit_code(explained, findings, options)


def _absences(
    options: ExplainOptions, histories: list[GroupHistory], chosen: list[GroupHistory]
) -> list[str]:
    """Return what was asked for and is not there, and what there is instead."""
    there = ", ".join(each.group for each in histories)
    absences = [
        f"no sign of group {name}; there is {there or 'no group'}"
        for name in sorted(options.groups - {each.group for each in histories})
    ]
    if not histories:
        absences.append("no group was seen to join, to send heartbeats or to leave")
    generation = options.generation
    for each in chosen if generation is not None else ():
        if all(rebalance.generation != generation for rebalance in each.rebalances):
            numbers = ", ".join(str(rebalance.generation) for rebalance in each.rebalances[:20])
            absences.append(
                f"group {each.group} has no rebalance that made generation {generation}; there is "
                f"{numbers or 'none'}"
            )
    return absences


def _exit_code(explained: Explained, findings: list[Finding], options: ExplainOptions) -> ExitCode:
    capture = explained.capture
    if capture is not None and capture.is_interrupted:
        return ExitCode.INTERRUPTED
    is_partial = explained.is_partial or (capture is not None and capture.is_partial)
    return exit_code_of([], findings, options.fail_on, is_partial=is_partial)
