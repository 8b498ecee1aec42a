"""Key logs of any size: read by line, and searched for one connection at a time.

A broker writes a secret a line for years, and a capture needs a few of them. So of a file only an
index is kept, which knows in which chunk the lines of a client random stand:

    chunk    0            1            2          of 256 KiB, cut at the ends of lines
    lines    5f.. 5f..    a3.. 17..    5f..
    index    17: 1    5f: 0    5f: 2    a3: 1     40 bits of the client random, 24 of the chunk

The chunks are read again for the lines themselves. What a program has added to the file since then
is read first: in a live capture the secrets come after the file was opened.
"""

import io
import os
import re
from array import array
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from io import BufferedIOBase, RawIOBase
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kdiag.pcap.files.pcapng import TLS_KEY_LOG, Secrets
from kdiag.pcap.tls.keylog import DEFAULT_MAX_SECRETS, KeyLog

MAX_LINE_BYTES: Final = 1024
"""The longest line of the format has 325 bytes."""

MAX_INDEXED: Final = 4 << 20
"""The most entries of an index: eight bytes for each connection, 32 MiB in all."""

_CHUNK_BYTES: Final = 256 << 10
_RANDOM_DIGITS: Final = 64
_PREFIX_DIGITS: Final = 16  # eight bytes, of which an entry keeps five
_CHUNK_MASK: Final = np.uint64((1 << 24) - 1)
_MAX_PARTS: Final = 8
_SECRET: Final = re.compile(
    rb"^(?:CLIENT_RANDOM|(?:CLIENT|SERVER)_(?:HANDSHAKE_TRAFFIC_SECRET|TRAFFIC_SECRET_0)) "
    rb"([0-9A-Fa-f]{64}) [0-9A-Fa-f]{64,128}[ \t\r]*$",
    re.MULTILINE,
)
_HARMLESS: Final = re.compile(
    rb"^(?:#.*|[ \t\r]*|[A-Z][A-Z0-9_]{0,63} [0-9A-Fa-f]{64} [0-9A-Fa-f]{64,128}[ \t\r]*)$",
    re.MULTILINE,
)

KeyLogStream: TypeAlias = BinaryIO | BufferedIOBase | RawIOBase


class LineBlock(NamedTuple):
    """Lines of a key log that stand behind one another.

    Attributes:
        start: where the first one begins in what was read.
        data: the lines; only the last one of all may lack its end.
    """

    start: int
    data: bytes

    @property
    def randoms(self) -> list[bytes]:
        """Return the client random of each secret, in hexadecimal as it is written."""
        return _SECRET.findall(self.data)

    def bad_lines(self, secrets: int) -> int:
        """Return how many lines are neither secrets nor comments, given the number of secrets."""
        lines = self.data.count(b"\n") + (not self.data.endswith(b"\n"))
        if lines == secrets:
            return 0
        text = self.data.removesuffix(b"\n")
        return lines - len(_HARMLESS.findall(text))

    def lines_of(self, client_random: bytes) -> Iterator[bytes]:
        """Yield the lines that name a client random, given in hexadecimal, lower case."""
        text, at = self.data.lower(), -1
        while (at := text.find(client_random, at + 1)) >= 0:
            end = text.find(b"\n", at)
            yield self.data[text.rfind(b"\n", 0, at) + 1 : end if end >= 0 else None]


def wanted_lines(block: LineBlock, randoms: Collection[bytes]) -> Iterator[bytes]:
    """Yield the lines of a block whose client random is one of some."""
    for match in _SECRET.finditer(block.data):
        if bytes.fromhex(match[1].decode()) in randoms:
            yield match[0]


def read_line_blocks(file: KeyLogStream, start: int = 0) -> Iterator[LineBlock]:
    """Yield the lines of a key log in blocks of bounded size; a longer line loses its rest.

    Args:
        file: the key log, at byte `start`.
        start: what the blocks' own starts count from.

    Raises:
        OSError: it cannot be read any further.
    """
    rest = b""
    while data := file.read(_CHUNK_BYTES):
        start += len(data)
        data = rest + data
        end = data.rfind(b"\n") + 1
        if end:
            yield LineBlock(start - len(data), data[:end])
        # What is cut off is no secret any more, and counts as one bad line.
        rest = data[end : end + MAX_LINE_BYTES]
    if rest:
        yield LineBlock(start - len(rest), rest)


class KeyLogFile:
    """A key log on a disk, which can be read again and may grow.

    Attributes:
        left_out: secrets that are not in the index because it is full.
    """

    def __init__(self, path: Path) -> None:
        """Index the secrets of a file.

        Raises:
            OSError: it cannot be read.
        """
        self.left_out = 0
        self._path = path
        self._end = 0
        self._state = (0, 0)  # the file's own number, and its size
        self._starts = array("Q")
        self._parts: list[npt.NDArray[np.uint64]] = []
        self._whole = self._last = (0, 0)  # secrets and bad lines; the last line may lack its end
        self._read_on()

    @property
    def secrets(self) -> int:
        """Return how many secrets the file holds."""
        return self._whole[0] + self._last[0]

    @property
    def bad_lines(self) -> int:
        """Return how many lines are neither secrets nor comments."""
        return self._whole[1] + self._last[1]

    def lines_of(self, client_random: bytes) -> list[bytes]:
        """Return the lines of a connection in their order; none if the file has gone."""
        found: list[bytes] = []
        with suppress(OSError):
            self._read_on()
            numbers = self._chunks_of(client_random)
            with self._path.open("rb") as file:
                for number in numbers:
                    file.seek(self._starts[number])
                    chunk = file.read(_CHUNK_BYTES + MAX_LINE_BYTES)
                    found += LineBlock(0, chunk).lines_of(client_random.hex().encode())
        return found

    def _read_on(self) -> None:
        """Index what was added since the last time: all of it if this is another file."""
        with self._path.open("rb") as file:
            status = os.fstat(file.fileno())
            before, self._state = self._state, (status.st_ino, status.st_size)
            if self._state == before:
                return
            if status.st_ino != before[0] or status.st_size < before[1]:
                self._end, self._whole = 0, (0, 0)
                self._parts.clear()
                del self._starts[:]
            self._last = 0, 0
            file.seek(self._end)
            new = [self._entries(block) for block in read_line_blocks(file, self._end)]
        if any(map(len, new)):
            self._add(np.concatenate(new))

    def _entries(self, block: LineBlock) -> npt.NDArray[np.uint64]:
        """Return the entries of a block of lines, and count its lines."""
        randoms = block.randoms
        counts = len(randoms), block.bad_lines(len(randoms))
        if block.data.endswith(b"\n"):
            self._end = block.start + len(block.data)
            self._whole = self._whole[0] + counts[0], self._whole[1] + counts[1]
        else:
            self._last = counts
        if not randoms:
            return np.empty(0, np.uint64)
        self._starts.append(block.start)
        prefixes = b"".join([each[:_PREFIX_DIGITS] for each in randoms]).decode()
        entries = np.frombuffer(bytes.fromhex(prefixes), ">u8").astype(np.uint64)
        return _distinct((entries & ~_CHUNK_MASK) | np.uint64(len(self._starts) - 1))

    def _add(self, entries: npt.NDArray[np.uint64]) -> None:
        room = max(MAX_INDEXED - sum(map(len, self._parts)), 0)
        self.left_out += max(len(entries) - room, 0)
        self._parts.append(np.sort(entries[:room]))
        if len(self._parts) > _MAX_PARTS:
            self._parts = [np.sort(np.concatenate(self._parts))]

    def _chunks_of(self, client_random: bytes) -> list[int]:
        """Return the chunks that may hold lines of a connection."""
        first = np.uint64(int.from_bytes(client_random[: _PREFIX_DIGITS // 2])) & ~_CHUNK_MASK
        found: set[int] = set()
        for part in self._parts:
            low, high = np.searchsorted(part, [first, first | _CHUNK_MASK], "left")
            found.update((part[low : high + 1] & _CHUNK_MASK).tolist())
        return sorted(found)


def _distinct(entries: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the values sorted, each once: the secrets of a connection stand together."""
    entries.sort()
    is_new = np.ones(len(entries), np.bool_)
    is_new[1:] = entries[1:] != entries[:-1]
    distinct: npt.NDArray[np.uint64] = entries[is_new]
    return distinct


class SearchedKeyLog(KeyLog):
    """A key log that also finds the secrets in files; it keeps those of the last connection alone.

    What captures and pipes bring along is kept: it cannot be read again. Where a capture brings
    more than can be kept, only the secrets of connections in the captures are.

    Attributes:
        find_own_randoms: returns the client randoms of the captures, as `add_file` has it.
    """

    def __init__(self, *, max_secrets: int = DEFAULT_MAX_SECRETS) -> None:
        super().__init__(max_secrets=max_secrets)
        self.find_own_randoms: Callable[[], Collection[bytes] | None] = lambda: None
        self._own_randoms: Collection[bytes] | None = None
        self._files: list[KeyLogFile] = []
        self._found: dict[bytes, bytes] = {}
        self._passed_over = 0

    def __len__(self) -> int:
        return super().__len__() + self._passed_over + sum(each.secrets for each in self._files)

    def add_file(
        self, path: Path, find_randoms: Callable[[], Collection[bytes] | None] = lambda: None
    ) -> None:
        """Add a file, whose secrets are looked up in it; a pipe is read to its end.

        Args:
            path: the key log.
            find_randoms: returns the client randoms whose secrets alone are wanted of a pipe; None
                for all secrets, as many as are kept.

        Raises:
            OSError: it cannot be read.
        """
        if path.is_file():
            file = KeyLogFile(path)
            self.bad_lines += file.bad_lines
            self.left_out += file.left_out
            self._files.append(file)
            return
        with path.open("rb") as stream:
            self._read_once(stream, find_randoms())

    def look_further(self, client_random: bytes, *, is_tls13: bool) -> None:
        """Look for the secrets of a connection in the files, then ahead in the captures."""
        self._found.clear()
        for file in self._files:
            for line in file.lines_of(client_random):
                self._add_line(line, self._found.__setitem__)
        super().look_further(client_random, is_tls13=is_tls13)

    def add_secrets(self, secrets: list[Secrets]) -> None:
        """Add the key logs of a capture, and empty the list of its secrets."""
        while secrets:
            found = secrets.pop()
            if found.kind == TLS_KEY_LOG:
                self._make_room(found.data.count(b"\n"))
                self._read_once(io.BytesIO(found.data), self._own_randoms)

    def _make_room(self, more: int) -> None:
        """Keep the secrets of the captures' connections alone, if there are too many with these."""
        if self._own_randoms is not None or len(self._secrets) + more <= self._max_secrets:
            return
        randoms = self._own_randoms = self.find_own_randoms()
        self.find_own_randoms = lambda: None  # that was a pass over the captures: once
        if randoms is not None:
            kept = {key: secret for key, secret in self._secrets.items() if key[1:] in randoms}
            self._passed_over += len(self._secrets) - len(kept)
            self._secrets = kept

    def _read_once(self, stream: KeyLogStream, randoms: Collection[bytes] | None) -> None:
        for block in read_line_blocks(stream):
            if randoms is None:
                self.add(block.data)
                continue
            secrets = len(block.randoms)
            self.bad_lines += block.bad_lines(secrets)
            self._passed_over += secrets
            for line in wanted_lines(block, randoms):
                self._passed_over -= 1
                self.add(line)

    def _get(self, key: bytes) -> bytes | None:
        return super()._get(key) or self._found.get(key)
