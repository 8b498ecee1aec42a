"""The frame of every live command: its time limit, its errors, its exit code."""

import sys
from collections.abc import Callable

from kdiag.diagnosis.connection_finding import connection_finding
from kdiag.errors import ConnectError, KdiagError
from kdiag_cli.ending import close_quietly
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.interruption import TimeUp, limited, timeout_text
from kdiag_cli.output.document_forms import DocumentForm, chosen_form
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.terminal import Output, say


def run_live(
    work: Callable[[], ExitCode],
    timeout_ns: int | None = None,
    *,
    command: str = "",
    output: ResultFormat = ResultFormat.TABLE,
    cleanup_ns: int = 0,
) -> ExitCode:
    """Run the work of a live command and return the exit code of the program.

    Errors go to stderr. With `--output json` they also become a document on stdout, so that a
    program never reads nothing. Whatever was printed before the time was up stays.

    Args:
        work: prints its results and returns the exit code; runs in the main thread.
        timeout_ns: the longest it may take by the wall clock, whatever it waits for; None for ever.
        command: the name in the document.
        output: whether JSON was asked for.
        cleanup_ns: how long the work may clean up once its time is up.
    """
    has_document = chosen_form() in {DocumentForm.JSON, DocumentForm.YAML}
    is_json = output is ResultFormat.JSON and has_document  # rows have no place for failures

    def report_timeout() -> ExitCode:
        message = timeout_text(timeout_ns)
        if is_json:
            print_failure(command, message)
        say(message)
        return ExitCode.TIMEOUT

    try:
        with limited(timeout_ns, report_timeout, cleanup_ns):
            code = work()
            sys.stdout.flush()
    except KdiagError as error:
        if is_json:
            print_failure(command, error)
        say(str(error))
        if isinstance(error, ConnectError) and error.fix:
            say(f"  {error.fix}")
        return exit_code_of([error])
    except TimeUp:
        return report_timeout()
    except BrokenPipeError:
        close_quietly()
        return ExitCode.DONE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return code


def print_failure(command: str, problem: KdiagError | str) -> None:
    """Print the document of a command without a result.

    Args:
        command: its name.
        problem: why there is none; a connection that failed becomes a finding.
    """
    output = Output()
    if isinstance(problem, ConnectError):
        print_document(output, command, [], findings=[connection_finding(problem)])
    else:
        print_document(output, command, [], warnings=[str(problem)])
    output.flush()
