"""The frame of every command that reads captures: what its errors are worth, and how it may end."""

from collections.abc import Callable

from kdiag.errors import CaptureError, ReportError
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import close_quietly, say


def run_on_captures(work: Callable[[], ExitCode]) -> ExitCode:
    """Run the work of a command and return the exit code of the program.

    What is wrong with captures and questions is told on stderr; a reader of stdout may go away.

    Args:
        work: prints its results and returns the exit code.
    """
    try:
        return work()
    except (CaptureError, ReportError) as error:
        say(*str(error).splitlines())
        return ExitCode.USAGE
    except BrokenPipeError:
        close_quietly()
        return ExitCode.DONE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
