"""What a log refuses, and what is wrong with its files: the two ways in which it fails.

A refusal is the caller's fault and names the error code of the response; the log is as it was. A
fault in a file is the disk's: what cannot be read is said with its place, and the partition is
offline until somebody has looked (`KAFKA_STORAGE_ERROR`).

Source: the exceptions that Kafka's `UnifiedLog` and `LogValidator` throw.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kdiag.errors import KdiagError


class RecordError(NamedTuple):
    """A record that was refused; for `record_errors` of a Produce response (KIP-467).

    Attributes:
        batch_index: its number in the batch, from 0.
        message: why.
    """

    batch_index: int
    message: str


class LogRefusedError(KdiagError):
    """The log refuses a request, and is as it was.

    Attributes:
        error: the name of Kafka's error code, such as `OUT_OF_ORDER_SEQUENCE_NUMBER`.
        why: the expected value and the actual one.
        record_errors: the records at fault, if single ones are.
    """

    def __init__(self, error: str, why: str, record_errors: tuple[RecordError, ...] = ()) -> None:
        super().__init__(error, why)
        self.error = error
        self.why = why
        self.record_errors = record_errors

    def __str__(self) -> str:
        return f"{self.error}: {self.why}"


class LogFileError(KdiagError):
    """A file of a log cannot be read or written, or contradicts its format.

    Attributes:
        path: the file.
        why: the expected content, the actual content and the remedy.
        offset: bytes from the start of the file; None if the file as a whole is at fault.
    """

    error = "KAFKA_STORAGE_ERROR"

    def __init__(self, path: Path, why: str, offset: int | None = None) -> None:
        super().__init__(path, why, offset)
        self.path = path
        self.why = why
        self.offset = offset

    def __str__(self) -> str:
        place = "" if self.offset is None else f", byte {self.offset}"
        return f"{self.path}{place}: {self.why}"


@contextmanager
def disk_faults(path: Path) -> Iterator[None]:
    """Turn the operating system's errors into those of a file.

    Raises:
        LogFileError: if the operation on the file failed.
    """
    try:
        yield
    except OSError as error:
        raise LogFileError(path, error.strerror or str(error)) from error
    except ValueError as error:  # such as a name with a zero byte
        raise LogFileError(path, str(error)) from error
