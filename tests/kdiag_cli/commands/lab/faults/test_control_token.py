import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from kdiag.errors import ConfigError
from kdiag_cli.commands.lab.faults.control_token import publish_token, read_token, token_file


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a user's own folder for what runs."""
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return folder


def test_a_token_is_there_for_its_owner_as_long_as_the_port(tmp_path: Path) -> None:
    """By its port, and beside client.properties; whatever the umask, only the owner reads them."""
    before = os.umask(0)
    try:
        with ExitStack() as closing:
            named = publish_token(closing, "t0ken", 8095, tmp_path)
            files = [token_file(8095), tmp_path / "control.token"]
            assert named == files[1]
            assert [read_token(file) for file in files] == ["t0ken", "t0ken"]
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
            assert token_file(8095).parent.stat().st_mode & 0o777 == 0o700
        assert [read_token(file) for file in files] == [None, None]
    finally:
        os.umask(before)


def test_a_proxy_has_no_folder_of_its_own(runtime: Path) -> None:
    """Its token is found by the port alone."""
    with ExitStack() as closing:
        assert publish_token(closing, "t0ken", 1, None) == runtime / "kdiag/control-1.token"


@pytest.mark.parametrize("given", ["", "missing"])
def test_without_a_folder_for_what_runs_it_is_among_temporary_files(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder of the user's own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", given and str(tmp_path / given))
    assert token_file(1).parent == tmp_path / f"kdiag-{os.geteuid()}"


@pytest.mark.parametrize("made", ["open", "link", "file"])
def test_a_folder_that_others_can_use_is_refused(
    made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They could read the token, or put another in its place."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    folder = tmp_path / f"kdiag-{os.geteuid()}"
    if made == "open":
        folder.mkdir()
        folder.chmod(0o755)
    elif made == "link":
        folder.symlink_to(tmp_path)
    else:
        folder.touch()
    with ExitStack() as closing, pytest.raises(ConfigError, match="control token"):
        publish_token(closing, "t0ken", 1, None)
    assert [*tmp_path.rglob("*.token")] == []
