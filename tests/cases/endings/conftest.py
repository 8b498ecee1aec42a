"""The folder in which commands are used wrongly, and which they leave as it was."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

FILES: Final = {
    "empty": b"",
    "text": b"hello world\n",
    "bad.gz": b"\x1f\x8b\x08\x00junkjunkjunk",
    "bad.properties": b"security.protocol=NOPE\n",
    "bad.toml": b"= =\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Be in a folder with useless files; afterwards it is the same, and nothing is temporary."""
    folder, temporary = tmp_path / "here", tmp_path / "temporary"
    (folder / "folder").mkdir(parents=True)
    temporary.mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    for name in [each for each in os.environ if each.startswith("KDIAG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.chdir(folder)
    yield folder
    assert {each.name for each in folder.iterdir()} == {*FILES, "folder"}
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert not [*(folder / "folder").iterdir(), *temporary.iterdir()]
