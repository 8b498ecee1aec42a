import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from folders import CAPTURES, ROOT
from kdiag.clock import ALWAYS
from kdiag.pcap.files.pcapng import TLS_KEY_LOG
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pipeline.input.captures import (
    Wanted,
    find_captures,
    find_new_captures,
    note_changes,
    secrets_for,
)
from kdiag.pipeline.input.split import Walk, walk
from kdiag.pipeline.output.read_captures import ReadCaptures
from kdiag.report.run_log import LoggedRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPLIT_BYTES = 64 << 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two captures, and a file that is none."""
    (tmp_path / "in").mkdir()
    for name in ("acks.pcap", "transaction.pcap"):
        shutil.copy(CAPTURES / name, tmp_path / "in")
    (tmp_path / "in" / "notes.txt").write_text("no capture, but long enough to be looked into\n")
    return tmp_path / "in"


def names(walks: list[Walk]) -> list[str]:
    """Return the names of the files."""
    return [Path(each.uri).name for each in walks]


@pytest.mark.soak
def test_a_capture_that_is_named_twice_is_read_once(spark: "SparkSession", folder: Path) -> None:
    """By another spelling, by a link, and as one of its folder."""
    (folder.parent / "link").symlink_to("in")
    inputs = [str(folder), f"{folder}/", f"{folder.parent}/link", f"{folder}/../in/acks.pcap"]
    walks = find_captures(spark, Wanted(inputs, SPLIT_BYTES, ALWAYS))

    assert sorted(names(walks)) == ["acks.pcap", "transaction.pcap"]


@pytest.mark.soak
def test_only_captures_that_no_run_has_read_are_new(spark: "SparkSession", folder: Path) -> None:
    """One that has grown since is told; one that was copied is known."""
    acks, transaction = folder / "acks.pcap", folder / "transaction.pcap"
    shutil.copy(acks, folder / "copy.pcap")
    whole = transaction.read_bytes()
    transaction.write_bytes(whole[: len(whole) // 2])
    read = [walk(str(each)).capture for each in (acks, transaction)]
    transaction.write_bytes(whole)
    shutil.copy(CAPTURES / "rebalance.pcap", folder)
    wanted = Wanted([str(folder)], SPLIT_BYTES, ALWAYS)
    new, warnings = find_new_captures(spark, wanted, ReadCaptures([LoggedRun("x", captures=read)]))

    assert names(new) == ["rebalance.pcap"]
    (warning,) = warnings
    assert warning.startswith(f"{transaction}: is in the tables in part: it has grown")
    assert warning.endswith("repeat run x without --new")


def test_a_capture_that_is_written_to_while_it_is_read_is_told(folder: Path) -> None:
    """Its end is not in the tables; one that a ring buffer has removed by then is."""
    walks = [walk(str(folder / name)) for name in ("acks.pcap", "transaction.pcap")]
    assert note_changes(walks) == []
    with (folder / "acks.pcap").open("ab") as file:
        file.write(b"more")
    (folder / "transaction.pcap").unlink()

    (warning,) = note_changes(walks)
    assert warning.startswith(f"{folder}/acks.pcap: was written to while it was read")


def test_tasks_get_the_secrets_of_their_captures_alone(tmp_path: Path) -> None:
    """Not those of all connections that a key log has seen; a key log that is gone has none."""
    file = ROOT / "tests/data/captures_tls/tls13_kafkapython.pcap"
    keys, gone = tmp_path / "keys", tmp_path / "gone"
    other = b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48 + b"\n"
    keys.write_bytes(other * 100 + file.with_suffix(".keylog").read_bytes() + other)
    walks = [walk(str(file))]
    (secrets,) = secrets_for(walks, (str(gone), str(keys)))

    assert secrets.kind == TLS_KEY_LOG
    keylog = KeyLog.parse(secrets.data)
    assert len(keylog) == 4 * len(walks[0].client_randoms) > 0
    assert not keylog.bad_lines
    assert secrets_for([walk(str(CAPTURES / "acks.pcap"))], (str(keys),)) == ()
