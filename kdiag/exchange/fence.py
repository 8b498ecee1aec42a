"""The fence around each exchange: a fault of kdiag's own costs that exchange, never the run.

Reading bytes does not raise. Should it do so after all, or should what is made of an exchange (its
line, its document, its rows), then the exchange is closed as malformed, with the fault as the
reason, and passed on like any other:

    try:
        printer.exchange(dissection)
    except Exception as error:
        say(blame(dissection, error))
        printer.exchange(dissection)

Errors of the output (a pipe that was closed, a disk that is full) and those that end a run are not
of this kind: `blame` raises them again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import extract_tb

from kdiag.errors import DecodeError, EncodeError, KdiagError
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange


def blame(dissection: Dissection, error: Exception) -> str:
    """Close an exchange because of a fault of kdiag's own; return the line that reports it.

    Raises:
        Exception: the error itself, if it is not a fault of reading.
    """
    fault = fault_of(error)
    dissection.close(f"internal error: {fault}")
    return fault_text(dissection.exchange, fault)


def fault_of(error: Exception) -> str:
    """Return which error it is and where it was raised.

    Raises:
        Exception: the error itself, if it is not a fault of reading.
    """
    if not _is_own(error):
        raise error
    last = extract_tb(error.__traceback__)[-1]
    name = last.filename.replace("\\", "/").rpartition("/kdiag/")[2]
    return f"{type(error).__name__}: {error} ({name}:{last.lineno})"


@contextmanager
def suppress_faults() -> Iterator[None]:
    """Go on behind the block if it meets a fault of reading; who shows the exchange reports it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - what is not a fault of reading is raised again
        fault_of(error)


def fault_text(exchange: Exchange, fault: str) -> str:
    """Return the line that reports a fault."""
    return f"exchange {exchange.number} cannot be read, please report this: {fault}"


def _is_own(error: Exception) -> bool:
    """Return whether an error is a fault of reading."""
    if isinstance(error, KdiagError):
        return isinstance(error, DecodeError | EncodeError)
    if isinstance(error, RuntimeError):  # typer ends programs with some
        return isinstance(error, RecursionError | NotImplementedError)
    return not isinstance(error, OSError)
