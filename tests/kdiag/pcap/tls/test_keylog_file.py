import io
import os
import threading
from hashlib import sha256
from pathlib import Path

import pytest

from kdiag.pcap.files.pcapng import TLS_KEY_LOG, Secrets
from kdiag.pcap.tls import keylog_file
from kdiag.pcap.tls.keylog_file import (
    MAX_LINE_BYTES,
    KeyLogFile,
    SearchedKeyLog,
    read_line_blocks,
    wanted_lines,
)
from tiers.cases import for_each

LABELS13 = (
    "SERVER_HANDSHAKE_TRAFFIC_SECRET",
    "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
    "SERVER_TRAFFIC_SECRET_0",
    "CLIENT_TRAFFIC_SECRET_0",
)
LINES_OF_A_CHUNK = 1500  # 176 bytes each


def random_of(number: int) -> bytes:
    """Return the client random of a connection."""
    return sha256(b"%d" % number).digest()


def line(number: int, label: str = "CLIENT_RANDOM", secret: bytes = b"") -> bytes:
    """Return a line of a key log about a connection."""
    text = (secret or (random_of(number) * 2)[:48]).hex()
    return f"{label} {random_of(number).hex()} {text}\n".encode()


def lines(*numbers: int) -> bytes:
    """Return a line for each of some connections."""
    return b"".join(map(line, numbers))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a key log may be written."""
    return tmp_path / "keys"


def search(path: Path, number: int) -> bytes | None:
    """Return the master secret of a connection that was looked for in a file."""
    keylog = SearchedKeyLog()
    keylog.add_file(path)
    keylog.look_further(random_of(number), is_tls13=False)
    return keylog.master_secret(random_of(number))


@pytest.mark.thorough
@for_each("number", [0, 1, LINES_OF_A_CHUNK, 2 * LINES_OF_A_CHUNK - 1, 3 * LINES_OF_A_CHUNK - 1])
def test_a_secret_is_found_wherever_it_stands(path: Path, number: int) -> None:
    """At the start, at the end, and where one chunk meets the next; another one is not."""
    path.write_bytes(lines(*range(3 * LINES_OF_A_CHUNK)))
    assert search(path, number) == (random_of(number) * 2)[:48]
    assert search(path, -1) is None


def test_only_the_secrets_of_the_last_connection_are_in_memory(path: Path) -> None:
    """They are looked up again if they are needed again."""
    path.write_bytes(lines(1, 2, 3))
    keylog = SearchedKeyLog()
    keylog.add_file(path)
    assert len(keylog) == 3
    for number in (1, 2):
        keylog.look_further(random_of(number), is_tls13=False)
    assert keylog.master_secret(random_of(1)) is None
    assert keylog.knows(random_of(2), is_tls13=False)


def test_the_four_lines_of_a_connection_may_stand_far_apart(path: Path) -> None:
    """And in capitals; of two lines that say the same the last one counts."""
    far = lines(*range(LINES_OF_A_CHUNK))
    first, *others = (line(-1, label, bytes([at] * 32)) for at, label in enumerate(LABELS13))
    newer = line(-1, LABELS13[3], bytes([9] * 32)).upper()
    path.write_bytes(first + far + far.join(others) + far + newer)
    keylog = SearchedKeyLog()
    keylog.add_file(path)
    keylog.look_further(random_of(-1), is_tls13=True)

    assert keylog.knows(random_of(-1), is_tls13=True)
    assert keylog.handshake_secret(random_of(-1), is_client=False) == bytes(32)
    assert keylog.traffic_secret(random_of(-1), is_client=True) == bytes([9] * 32)


def test_secrets_that_a_program_adds_are_found(path: Path) -> None:
    """Also those of a line that was not whole before, and of a file that was begun anew."""
    path.write_bytes(lines(1) + line(2)[:50])
    keylog = SearchedKeyLog()
    keylog.add_file(path)
    assert keylog.bad_lines == 1
    for number, more in ((2, line(2)[50:] + lines(3)), (4, lines(4)), (5, lines(5).rstrip())):
        with path.open("ab") as file:
            file.write(more)
        keylog.look_further(random_of(number), is_tls13=False)
        assert keylog.knows(random_of(number), is_tls13=False), number
    path.write_bytes(lines(6))
    keylog.look_further(random_of(6), is_tls13=False)
    assert keylog.knows(random_of(6), is_tls13=False)
    path.unlink()
    keylog.look_further(random_of(6), is_tls13=False)
    assert not keylog.knows(random_of(6), is_tls13=False)


def test_an_index_of_many_parts_is_merged(path: Path) -> None:
    """A file that grows for days is searched as fast as one that was there before."""
    path.write_bytes(lines(0))
    file = KeyLogFile(path)
    for number in range(1, 40):
        with path.open("ab") as log:
            log.write(line(number))
        file.lines_of(random_of(number))
    assert len(file._parts) <= keylog_file._MAX_PARTS
    assert all(file.lines_of(random_of(number)) for number in range(40))


def test_lines_are_counted_as_they_are(path: Path) -> None:
    """Comments, blank lines and secrets of other kinds are no fault, and neither found nor bad."""
    others = b"# note\r\n\n \t\n" + line(1, "EXPORTER_SECRET")
    path.write_bytes(others + lines(2, 3) + b"CLIENT_RANDOM 00 11\n\xff\n" + lines(4).rstrip())
    file = KeyLogFile(path)
    assert (file.secrets, file.bad_lines, file.left_out) == (3, 2, 0)


@for_each("size", [MAX_LINE_BYTES, 700_000])
def test_a_line_without_end_takes_no_memory_and_costs_no_other(path: Path, size: int) -> None:
    """It counts as one bad line, and secrets before and behind it are found."""
    path.write_bytes(lines(1) + b"A" * size + b"\n" + lines(2))
    file = KeyLogFile(path)
    assert (file.secrets, file.bad_lines) == (2, 1)
    assert search(path, 1) is not None
    assert search(path, 2) is not None
    blocks = list(read_line_blocks(io.BytesIO(b"A" * size)))
    assert [len(block.data) for block in blocks] == [MAX_LINE_BYTES]


def test_an_index_has_a_bound_and_says_what_is_left_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight bytes for each connection are a little, and many of them are not."""
    assert keylog_file.MAX_INDEXED * 8 == 32 << 20
    monkeypatch.setattr(keylog_file, "MAX_INDEXED", 3)
    path.write_bytes(lines(1, 2, 3, 4, 5))
    keylog = SearchedKeyLog()
    keylog.add_file(path)
    assert keylog.left_out == 2


def test_of_a_pipe_only_wanted_secrets_are_kept(path: Path) -> None:
    """It cannot be read twice; that it holds others is known nevertheless."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(lines(*range(300)) + b"bad\n",))
    writer.start()
    keylog = SearchedKeyLog()
    keylog.add_file(path, lambda: {random_of(7), random_of(299)})
    writer.join()
    assert len(keylog) == 300
    assert keylog.bad_lines == 1
    assert keylog.master_secret(random_of(299)) is not None
    assert keylog.master_secret(random_of(8)) is None


def test_of_too_many_secrets_in_captures_those_of_their_connections_are_kept() -> None:
    """Wherever they stand; the captures are looked through once, and only if need be."""
    passes = []

    def find() -> set[bytes]:
        passes.append(1)
        return {random_of(1), random_of(290)}

    keylog = SearchedKeyLog(max_secrets=100)
    keylog.find_own_randoms = find
    keylog.add_secrets([Secrets(TLS_KEY_LOG, lines(*range(90)))])
    assert keylog.master_secret(random_of(80)) is not None
    assert not passes
    blocks = [Secrets(TLS_KEY_LOG, lines(*range(first, first + 100))) for first in (200, 100)]
    keylog.add_secrets([*blocks, Secrets(TLS_KEY_LOG + 1, lines(5))])

    assert len(passes) == 1
    assert (len(keylog), keylog.left_out) == (290, 0)
    assert [number for number in range(300) if keylog.master_secret(random_of(number))] == [1, 290]


def test_the_lines_of_some_connections_are_chosen() -> None:
    """Whatever case their digits have; lines that only look like theirs are left."""
    data = lines(1, 2).upper() + lines(3) + b"x" + lines(1)
    (block,) = read_line_blocks(io.BytesIO(data))
    chosen = list(wanted_lines(block, {random_of(1), random_of(3)}))
    assert chosen == [line(1).upper().rstrip(), line(3).rstrip()]
