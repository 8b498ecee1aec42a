"""Runs scenarios, tells what came of them, and lists those that come with kdiag."""

import logging
import sys
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import typer

from kdiag.errors import ConfigError, KdiagError
from kdiag.lab.scenario.scenario import Scenario
from kdiag.lab.scenario.scenario_file import scenario_schema
from kdiag.lab.scenario.scenario_run import ScenarioOutcome, run_scenario
from kdiag.lab.scenario.shipped import find_scenario, shipped_file, shipped_scenarios
from kdiag_cli.commands.lab.scenario.text import (
    document,
    junit_xml,
    print_list_text,
    print_outcomes,
    progress_text,
)
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.options.results import require_folder
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.progress import StepProgress
from kdiag_cli.output.result import CommandResult, ResultFormat, print_result
from kdiag_cli.output.terminal import Output, say

RUN: Final = "lab run"
SCENARIOS: Final = "lab scenarios"


class RunOptions(NamedTuple):
    """The options of `kdiag lab run`.

    Attributes:
        names: scenarios by name or file; all that come with kdiag if there are none.
        ways: whether each is run with its disturbance, one after another.
        junit: gets the results as JUnit XML.
        pcap: gets the recording of the one scenario that is run.
        has_headers: whether a table has a line of column names.
    """

    names: tuple[str, ...]
    ways: tuple[bool, ...]
    junit: Path | None
    pcap: Path | None
    has_headers: bool


def run_all(options: RunOptions, form: ResultFormat) -> ExitCode:
    """Run scenarios, and return the exit code of the program.

    Raises:
        typer.BadParameter: if a file cannot be written, or recordings of several are wanted.
    """
    require_folder(options.junit, "'--junit'")
    require_folder(options.pcap, "'--pcap'")
    try:
        scenarios = _scenarios(options)
        if options.pcap is not None and len(scenarios) * len(options.ways) > 1:
            raise typer.BadParameter("one scenario at a time", param_hint="'--pcap'")
        outcomes = _outcomes(scenarios, options)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except KdiagError as error:
        say(str(error))
        return ExitCode.USAGE
    if options.junit is not None:
        options.junit.write_bytes(junit_xml(outcomes))
    result = CommandResult(
        RUN,
        lambda: [document(each) for each in outcomes],
        partial(print_outcomes, outcomes=outcomes, has_headers=options.has_headers),
    )
    print_result(result, form)
    problems: list[KdiagError | str | ExitCode] = [
        each.trouble or ExitCode.FINDINGS for each in outcomes if not each.passes
    ]
    return exit_code_of(problems)


def print_list(form: ResultFormat, *, has_headers: bool) -> None:
    """Print the scenarios that come with kdiag."""
    shipped = shipped_scenarios()
    result = CommandResult(
        SCENARIOS,
        lambda: [
            {
                "name": each.name,
                "theme": each.theme,
                "teaches": each.scenario.teaches,
                "finds": [found.kind for found in each.scenario.find],
            }
            for each in shipped
        ],
        partial(print_list_text, shipped=shipped, has_headers=has_headers),
    )
    print_result(result, form)


def show(name: str) -> ExitCode:
    """Print the file of a scenario; return the exit code of the program."""
    try:
        text = shipped_file(name).read_text(encoding="utf-8")
    except ConfigError as error:
        say(str(error))
        return ExitCode.USAGE
    output = Output()
    output.write(text.encode())
    output.flush()
    return ExitCode.DONE


def print_schema() -> None:
    """Print the JSON schema of scenarios."""
    output = Output()
    print_json(output, msgspec.json.encode(scenario_schema()))
    output.flush()


def _scenarios(options: RunOptions) -> list[Scenario]:
    """Return what to run; all files are read before the first is run.

    Raises:
        ConfigError: if one is no scenario.
    """
    if options.names:
        return [find_scenario(each) for each in options.names]
    return [each.scenario for each in shipped_scenarios()]


def _outcomes(scenarios: list[Scenario], options: RunOptions) -> list[ScenarioOutcome]:
    """Run scenarios one after another, while a line says which."""
    progress = StepProgress()
    logging.getLogger("kdiag").addHandler(logging.NullHandler())  # labs warn of what is wanted here
    outcomes: list[ScenarioOutcome] = []
    turns = [(each, way) for each in scenarios for way in options.ways]
    try:
        for number, (scenario, is_disturbed) in enumerate(turns):
            if sys.stderr.isatty():
                progress.update(
                    progress_text(scenario, is_disturbed=is_disturbed), number / len(turns)
                )
            outcomes.append(run_scenario(scenario, is_disturbed=is_disturbed, capture=options.pcap))
    finally:
        progress.clear()
    return outcomes
