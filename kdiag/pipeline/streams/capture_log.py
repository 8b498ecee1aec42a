"""The log of the captures that a stream has read from a folder, each content once.

    a.pcap      4,096 bytes  15:00:00   new        read
    b.pcap      1,024 bytes  15:00:09   -          still quiet for less than a minute: waits
    c.pcap        900 bytes  15:00:00   -          ends within a packet: an incomplete copy, waits
    a.pcap      8,192 bytes  15:10:00   new        begins differently: the name was reused, as by -W
    a.pcap      9,000 bytes  15:20:00   changed    begins as before: it was read too early
    notes.txt     200 bytes  15:00:00   foreign    is no capture

A capture is read once it has been quiet for a while, whatever other files there are: several hosts
may write into one folder, or each into a folder of its own in it. A poll looks into no file that is
known by its size and time.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from pyarrow import fs

from kdiag.clock import NS_PER_S
from kdiag.errors import CaptureError, ReportError
from kdiag.pipeline.input.split import read_positioned, walk, whole
from kdiag.pipeline.output.whole_files import read_whole, write_whole
from kdiag.report.uri import open_file, resolve

DEFAULT_QUIET_NS: Final = 60 * NS_PER_S
DEFAULT_WAIT_NS: Final = 600 * NS_PER_S
_HEAD_BYTES: Final = 256
_LEAST_BYTES: Final = 24
"""What the header of a capture has at least: a shorter file may still become one."""
_UNKNOWN_SIZE: Final = -1
_HIDDEN: Final = (".", "_")


class CaptureContent(StrEnum):
    """How the content of a capture relates to earlier entries of its name."""

    NEW = "new"
    CHANGED = "changed"
    """It begins as before, and is longer or shorter."""
    SAME = "same"
    """Only its time has changed."""
    FOREIGN = "foreign"
    """It is no capture."""


class LoggedCapture(msgspec.Struct, frozen=True):
    """An entry of the log.

    Attributes:
        uri: of the capture.
        size: in bytes; -1 in entries of older logs, which had none.
        mtime_ns: when it was written last.
        head: fingerprint of its first bytes, which hold the time of its first packet.
        content: whether it is to be read.
        host: whose it is; empty if nobody can tell.
    """

    uri: str
    size: int = _UNKNOWN_SIZE
    mtime_ns: int = 0
    head: str = ""
    content: CaptureContent = CaptureContent.NEW
    host: str = ""


class FolderRules(NamedTuple):
    """When a capture is complete, and whose it is.

    Attributes:
        quiet_ns: how long it must not have been written to.
        wait_ns: how long one that ends within a packet is waited for, since it was written to.
        host_of: a regular expression for names: its first group, or all of it, is the host. Without
            one a folder in the folder is a host.
    """

    quiet_ns: int = DEFAULT_QUIET_NS
    wait_ns: int = DEFAULT_WAIT_NS
    host_of: str = ""


class _Log(msgspec.Struct, frozen=True):
    captures: list[LoggedCapture]
    schema: int = 1


class _Found(NamedTuple):
    """A file in the folder."""

    uri: str
    host: str
    size: int
    mtime_ns: int


class CaptureLog:
    """The captures of a folder, in the order in which they were found complete."""

    def __init__(self, folder: str, log: str, rules: FolderRules) -> None:
        """Read nothing yet.

        Args:
            folder: where captures appear.
            log: the file of the log.
            rules: which of them are complete.
        """
        self._folder = folder.rstrip("/")
        self._log = log
        self._rules = rules
        self._incomplete: set[_Found] = set()

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
            entry
            for file in self._unknown(latest)
            if now_ns - file.mtime_ns >= self._rules.quiet_ns
            and (entry := self._entry(file, latest.get(file.uri), now_ns)) is not None
        ]
        if new:
            entries += new
            write_whole(self._log, msgspec.json.encode(_Log(entries)))
        return entries

    def waiting(self) -> list[str]:
        """Return the files that are in no entry as they are now."""
        latest = {each.uri: each for each in self.entries()}
        return [file.uri for file in self._unknown(latest)]

    def _unknown(self, latest: dict[str, LoggedCapture]) -> list[_Found]:
        """Return the files that are not known, by the time of their writing."""
        found = [file for file in self._files() if not _is_known(file, latest.get(file.uri))]
        return sorted(found, key=lambda file: (file.mtime_ns, file.uri))

    def _files(self) -> Iterator[_Found]:
        """Yield the files in the folder, and in the folders in it."""
        system, path = resolve(self._folder)
        for each in system.get_file_info(fs.FileSelector(path)):
            name = str(each.base_name)
            if name.startswith(_HIDDEN):
                continue
            if each.type == fs.FileType.File:
                yield self._found(each, name, "")
            elif each.type == fs.FileType.Directory:
                for file in system.get_file_info(fs.FileSelector(each.path, allow_not_found=True)):
                    if file.type == fs.FileType.File and not file.base_name.startswith(_HIDDEN):
                        yield self._found(file, f"{name}/{file.base_name}", name)

    def _found(self, file: fs.FileInfo, name: str, folder: str) -> _Found:
        host = folder
        if self._rules.host_of and (match := re.search(self._rules.host_of, name)):
            host = match[1] if match.re.groups else match[0]
        return _Found(f"{self._folder}/{name}", host or "", int(file.size), int(file.mtime_ns))

    def _entry(
        self, file: _Found, before: LoggedCapture | None, now_ns: int
    ) -> LoggedCapture | None:
        """Return the entry of a file; None if it is waited for."""
        may_grow = now_ns - file.mtime_ns < self._rules.wait_ns
        if may_grow and (file in self._incomplete or file.size < _LEAST_BYTES):
            return None
        content = self._content(file, before, may_grow=may_grow)
        if content is None:
            self._incomplete.add(file)  # as it is now: it is looked into again when it has grown
            return None
        return LoggedCapture(
            file.uri, file.size, file.mtime_ns, _head(file.uri), content, file.host
        )

    def _content(
        self, file: _Found, before: LoggedCapture | None, *, may_grow: bool
    ) -> CaptureContent | None:
        if before is not None and before.head == _head(file.uri):
            is_same = before.size == file.size
            return CaptureContent.SAME if is_same else CaptureContent.CHANGED
        try:
            if may_grow:
                return None if walk(file.uri).warning else CaptureContent.NEW
            next(read_positioned(whole(file.uri)), None)
        except CaptureError:
            return CaptureContent.FOREIGN
        return CaptureContent.NEW


def _head(uri: str) -> str:
    with open_file(uri) as opened:
        return sha256(opened.read(_HEAD_BYTES)).hexdigest()


def _is_known(file: _Found, entry: LoggedCapture | None) -> bool:
    if entry is None:
        return False
    is_old_entry = entry.size == _UNKNOWN_SIZE
    return is_old_entry or (entry.size == file.size and entry.mtime_ns == file.mtime_ns)
