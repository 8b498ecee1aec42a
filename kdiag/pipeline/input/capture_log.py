"""The log of the captures that a stream has read from a folder, each content once.

    a.pcap   4,096 bytes  15:00:00   new        read
    b.pcap   1,024 bytes  15:00:09   -          still quiet for less than a minute: waits
    a.pcap   8,192 bytes  15:10:00   new        begins differently: the name was reused, as by -W
    a.pcap   9,000 bytes  15:20:00   changed    begins as before: it was read too early

A capture is read once it has been quiet for a while, whatever other files there are: several hosts
may write into one folder. A poll looks into no file that is known by its size and time.
"""

from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from typing import Final

import msgspec
from pyarrow import fs

from kdiag.errors import ReportError
from kdiag.pipeline.output.checkpoint import read_whole, write_whole
from kdiag.pipeline.uri import open_file, resolve

_HEAD_BYTES: Final = 256
_UNKNOWN_SIZE: Final = -1


class CaptureContent(StrEnum):
    """How the content of a capture relates to earlier entries of its name."""

    NEW = "new"
    CHANGED = "changed"
    """It begins as before, and is longer or shorter."""
    SAME = "same"
    """Only its time has changed."""


class LoggedCapture(msgspec.Struct, frozen=True):
    """An entry of the log.

    Attributes:
        uri: of the capture.
        size: in bytes; -1 in entries of older logs, which had none.
        mtime_ns: when it was written last.
        head: fingerprint of its first bytes, which hold the time of its first packet.
        content: whether it is to be read.
    """

    uri: str
    size: int = _UNKNOWN_SIZE
    mtime_ns: int = 0
    head: str = ""
    content: CaptureContent = CaptureContent.NEW


class _Log(msgspec.Struct, frozen=True):
    captures: list[LoggedCapture]
    schema: int = 1


class CaptureLog:
    """The captures of a folder, in the order in which they were found complete."""

    def __init__(self, folder: str, log: str, quiet_ns: int) -> None:
        """Read nothing yet.

        Args:
            folder: where captures appear.
            log: the file of the log.
            quiet_ns: how long a capture must not have been written to.
        """
        self._folder = folder.rstrip("/")
        self._log = log
        self._quiet_ns = quiet_ns

    def entries(self) -> list[LoggedCapture]:
        """Return all entries.

        Raises:
            ReportError: if another release of kdiag has written the log.
        """
        data = read_whole(self._log)
        if data is None:
            return []
        try:
            log = msgspec.json.decode(data, type=_Log | list[str])
        except msgspec.ValidationError as error:
            raise ReportError(self._log, f"is of another release of kdiag: {error}") from error
        if isinstance(log, _Log):
            return log.captures
        return [LoggedCapture(uri) for uri in log]

    def poll(self, now_ns: int) -> list[LoggedCapture]:
        """Add the captures that are new and complete to the log, and return all entries."""
        entries = self.entries()
        latest = {each.uri: each for each in entries}
        new = [
            self._entry(file, latest.get(f"{self._folder}/{file.base_name}"))
            for file in self._quiet_files(now_ns)
            if not _is_known(file, latest.get(f"{self._folder}/{file.base_name}"))
        ]
        if new:
            entries += new
            write_whole(self._log, msgspec.json.encode(_Log(entries)))
        return entries

    def _quiet_files(self, now_ns: int) -> Iterable[fs.FileInfo]:
        system, path = resolve(self._folder)
        found = system.get_file_info(fs.FileSelector(path))
        quiet = [
            each
            for each in found
            if each.type == fs.FileType.File
            and now_ns - each.mtime_ns >= self._quiet_ns
            and not each.base_name.startswith((".", "_"))
        ]
        return sorted(quiet, key=lambda each: (each.mtime_ns, each.path))

    def _entry(self, file: fs.FileInfo, before: LoggedCapture | None) -> LoggedCapture:
        uri = f"{self._folder}/{file.base_name}"
        with open_file(uri) as opened:
            head = sha256(opened.read(_HEAD_BYTES)).hexdigest()
        content = CaptureContent.NEW
        if before is not None and before.head == head:
            content = CaptureContent.SAME if before.size == file.size else CaptureContent.CHANGED
        return LoggedCapture(uri, file.size, file.mtime_ns, head, content)


def _is_known(file: fs.FileInfo, entry: LoggedCapture | None) -> bool:
    if entry is None:
        return False
    is_old_entry = entry.size == _UNKNOWN_SIZE
    return is_old_entry or (entry.size == file.size and entry.mtime_ns == file.mtime_ns)
