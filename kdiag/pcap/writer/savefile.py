"""Writes a classic capture file with nanoseconds; reading one is `kdiag.pcap.files.pcap`.

Source: pcap-savefile(5) of libpcap.
"""

from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Final, Self

from kdiag.clock import NS_PER_S
from kdiag.errors import CaptureError

LINKTYPE_RAW: Final = 101
"""Packets that start with their IP header, of either version."""

_FILE_HEADER: Final = Struct("<IHHiIII")
_PACKET_HEADER: Final = Struct("<IIII")
_MAGIC_NS: Final = 0xA1B23C4D
_SNAPLEN: Final = 262_144


def file_header(link_type: int) -> bytes:
    """Return the header of a file whose packets have stamps in nanoseconds."""
    return _FILE_HEADER.pack(_MAGIC_NS, 2, 4, 0, 0, _SNAPLEN, link_type)


class CaptureFile:
    """A capture file that is written; a context manager, which closes it.

    Raises:
        CaptureError: from any method, when the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        """Start a file; one of that name is lost."""
        self._path = path
        try:
            self._file = path.open("wb")
        except OSError as error:
            raise self._error(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()

    @property
    def is_closed(self) -> bool:
        """Return whether it was closed, or could not be written."""
        return self._file.closed

    def flush(self) -> None:
        """Flush the appended packets to the file."""
        try:
            self._file.flush()
        except OSError as error:
            raise self._given_up(error) from error

    def close(self) -> None:
        """Flush the appended packets, and close the file."""
        try:
            self._file.close()
        except OSError as error:
            raise self._error(error) from error

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise self._given_up(error) from error

    def _given_up(self, error: OSError) -> CaptureError:
        """Close the file, which cannot be written any more, and return the error to raise."""
        with suppress(OSError):  # it would be the same again
            self._file.close()
        return self._error(error)

    def _error(self, error: OSError) -> CaptureError:
        return CaptureError(str(self._path), f"cannot be written: {error.strerror}")


class SavefileWriter(CaptureFile):
    """A classic capture file that packets are appended to."""

    def __init__(self, path: Path, link_type: int) -> None:
        """Start a file; one of that name is lost."""
        super().__init__(path)
        self._write(file_header(link_type))
        self.flush()

    def packet(self, data: bytes, time_ns: int) -> None:
        """Append a packet that was seen at a time since 1970."""
        head = _PACKET_HEADER.pack(*divmod(time_ns, NS_PER_S), len(data), len(data))
        self._write(head + data)
