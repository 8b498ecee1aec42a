"""Writes a capture file with nanoseconds, packet by packet: a classic pcap, or a pcapng.

Reading them is `kdiag.pcap.files.pcap` and `kdiag.pcap.files.pcapng`.

Source: pcap-savefile(5) of libpcap; draft-ietf-opsawg-pcapng.
"""

from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Final, Self

from kdiag.clock import NS_PER_S
from kdiag.errors import CaptureError
from kdiag.exchange.secrets.new_file import open_new

LINKTYPE_RAW: Final = 101
"""Packets that start with their IP header, of either version."""

_FILE_HEADER: Final = Struct("<IHHiIII")
_PACKET_HEADER: Final = Struct("<IIII")
_MAGIC_NS: Final = 0xA1B23C4D
_SNAPLEN: Final = 262_144

PCAPNG_SUFFIX: Final = ".pcapng"

_SECTION: Final = Struct("<IIIHHqI").pack(0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
_INTERFACE: Final = Struct("<IIHHIHHB3xHHI")  # with the option if_tsresol: 10**-9 s
_INTERFACE_TYPE: Final = 1
_TSRESOL: Final = 9
_PACKET_BLOCK: Final = Struct("<IIIIIII")
_PACKET_TYPE: Final = 6
_PACKET_FRAME_BYTES: Final = 32
_UINT32: Final = Struct("<I")


def file_header(link_type: int) -> bytes:
    """Return the header of a file whose packets have stamps in nanoseconds."""
    return _FILE_HEADER.pack(_MAGIC_NS, 2, 4, 0, 0, _SNAPLEN, link_type)


def section_header() -> bytes:
    """Return the first block of a pcapng."""
    return _SECTION


def interface_block(link_type: int) -> bytes:
    """Return the block of an interface of a pcapng whose packets have stamps in nanoseconds."""
    fields = (link_type, 0, 0, _TSRESOL, 1, _TSRESOL, 0, 0)
    return _INTERFACE.pack(_INTERFACE_TYPE, _INTERFACE.size, *fields, _INTERFACE.size)


class CaptureFile:
    """A capture file that is written; a context manager, which closes it.

    Raises:
        CaptureError: from any method, when the file cannot be written.
    """

    def __init__(self, path: Path, *, is_private: bool = False) -> None:
        """Start a file; one of that name is lost.

        Args:
            path: of the file.
            is_private: whether its owner alone may read it.
        """
        self._path = path
        try:
            self._file = open_new(path, is_private=is_private)
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
    """A capture file that packets are appended to."""

    def __init__(self, path: Path, link_type: int, *, is_private: bool = False) -> None:
        """Start a file, as `CaptureFile` does. It is a pcapng if its name ends with that."""
        super().__init__(path, is_private=is_private)
        self._is_pcapng = path.suffix == PCAPNG_SUFFIX
        self._write(
            section_header() + interface_block(link_type)
            if self._is_pcapng
            else file_header(link_type)
        )
        self.flush()

    def packet(self, data: bytes, time_ns: int) -> None:
        """Append a packet that was seen at a time since 1970."""
        if self._is_pcapng:
            self._write(_packet_block(data, time_ns))
            return
        head = _PACKET_HEADER.pack(*divmod(time_ns, NS_PER_S), len(data), len(data))
        self._write(head + data)


def _packet_block(data: bytes, time_ns: int) -> bytes:
    """Return a packet of the only interface of a pcapng."""
    padding = bytes(-len(data) % 4)
    size = _PACKET_FRAME_BYTES + len(data) + len(padding)
    stamp = (time_ns >> 32, time_ns & 0xFFFFFFFF)
    head = _PACKET_BLOCK.pack(_PACKET_TYPE, size, 0, *stamp, len(data), len(data))
    return head + data + padding + _UINT32.pack(size)
