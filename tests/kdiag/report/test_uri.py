import os
from pathlib import Path

import pytest

from kdiag.errors import CaptureError
from kdiag.report.uri import (
    canonical,
    expand,
    is_folder,
    open_file,
    remove_folder,
    resolve,
    state_of,
)
from tiers.cases import for_each


def test_a_path_and_a_uri_are_the_same_file(tmp_path: Path) -> None:
    """What is local may be written either way."""
    file = tmp_path / "a.pcap"
    file.write_bytes(b"abc")

    for uri in (str(file), file.as_uri()):
        assert state_of(uri).size == 3
        assert not is_folder(uri)
        with open_file(uri) as opened:
            opened.seek(1)
            assert opened.read() == b"bc"


def test_a_file_has_one_name_however_it_is_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative, absolute, by a link, as a URI, with slashes too many."""
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to("in")
    monkeypatch.chdir(tmp_path)
    spellings = ("in", "in/", "./in//", "link", f"{tmp_path}/in", (tmp_path / "in").as_uri())

    assert {canonical(each) for each in spellings} == {str(tmp_path / "in")}
    assert canonical("s3://bucket//in/a.pcap/") == "s3://bucket/in/a.pcap"


def test_a_file_that_is_written_to_is_in_another_state(tmp_path: Path) -> None:
    """Whether it is longer, or only newer."""
    file = tmp_path / "a.pcap"
    file.write_bytes(b"abc")
    before = state_of(str(file))
    os.utime(file, ns=(1, 1))

    assert state_of(str(file)) == (3, 1)
    assert before.mtime_ns > 1


def test_a_folder_stands_for_the_files_in_it(tmp_path: Path) -> None:
    """They come by name, and are told from those that were named."""
    (tmp_path / "folder" / "below").mkdir(parents=True)
    for name in ("b", "a"):
        (tmp_path / "folder" / name).touch()
    (tmp_path / "c").touch()
    assert is_folder(f"{tmp_path}/folder")
    folder, file = f"{tmp_path}/folder/", f"{tmp_path}/c"

    found = [(uri.removeprefix(str(tmp_path)), is_in) for uri, is_in in expand([folder, file])]

    assert found == [("/folder/a", True), ("/folder/b", True), ("/c", False)]


@for_each(
    ("pattern", "found"),
    [
        ("*.pcap", ["a.pcap", "b.pcap"]),
        ("?.pcap", ["a.pcap", "b.pcap"]),
        ("[!a].pcap", ["b.pcap"]),
        ("*/*.pcap", ["host/c.pcap"]),
        ("**/*.pcap", ["a.pcap", "b.pcap", "host/c.pcap", "host/day/d.pcap"]),
        ("host/**", ["host/c.pcap", "host/day/d.pcap"]),
        ("[1].pcap", ["[1].pcap"]),
    ],
)
def test_wildcards_stand_for_files(tmp_path: Path, pattern: str, found: list[str]) -> None:
    """Of one folder, or of those below it; a file of that very name comes first."""
    for name in ("a.pcap", "b.pcap", "notes", "host/c.pcap", "host/day/d.pcap", "[1].pcap"):
        if name.startswith("[") and pattern != name:
            continue
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    for where in (str(tmp_path), tmp_path.as_uri())[: 1 if set(pattern) & set("?1") else 2]:
        names = [uri.removeprefix(f"{where}/") for uri, _ in expand([f"{where}/{pattern}"])]
        assert names == found


def test_wildcards_that_nothing_is_like_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this folder, too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pcap").touch()

    assert [uri for uri, _ in expand(["*.pcap"])] == ["a.pcap"]
    with pytest.raises(CaptureError, match="no file is like it"):
        list(expand(["*.pcapng"]))


def test_schemes_of_hadoop_are_those_of_the_same_store() -> None:
    """A capture has one name, and one file system."""
    assert canonical("s3a://bucket/a.pcap") == canonical("s3n://bucket/a.pcap")
    assert canonical("gcs://bucket/a") == "gs://bucket/a"
    options = "?region=eu-west-1&endpoint_override=localhost:1"
    for scheme in ("s3", "s3a", "s3n"):
        system, path = resolve(f"{scheme}://bucket/a.pcap{options}")
        assert (system.type_name, path) == ("s3", "bucket/a.pcap")


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    """So is a file system that nobody knows."""
    missing = str(tmp_path / "missing")
    with pytest.raises(CaptureError, match="missing: cannot be opened"):
        list(expand([missing]))
    with pytest.raises(CaptureError, match="no such file"):
        state_of(missing)
    with pytest.raises(CaptureError, match="No such file"):
        open_file(missing)
    with pytest.raises(CaptureError, match="nosuch://host/a: cannot be opened"):
        resolve("nosuch://host/a")


def test_a_folder_is_removed_if_it_is_there(tmp_path: Path) -> None:
    """Twice is once."""
    (tmp_path / "folder" / "below").mkdir(parents=True)
    for _ in range(2):
        remove_folder(str(tmp_path / "folder"))

        assert not (tmp_path / "folder").exists()
