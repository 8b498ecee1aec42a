from pathlib import Path
from unittest.mock import patch

from kdiag_cli.commands.lab.demo import command
from kdiag_cli.commands.lab.demo.shell import DemoError, DemoShell
from programs.kdiag_program import kdiag


def test_what_is_made_may_be_kept(tmp_path: Path) -> None:
    """In a folder; otherwise it is gone."""
    folders = []

    def play(shell: DemoShell) -> None:
        folders.append(shell.folder)
        (shell.folder / "file").touch()

    with patch.object(command, "play", play):
        assert kdiag("demo").code == 0
        assert kdiag("demo", "--keep", tmp_path / "kept").code == 0
    assert not folders[0].exists()
    assert (tmp_path / "kept" / "file").exists()


def test_what_goes_wrong_is_said(tmp_path: Path) -> None:
    """In one line, with exit code 1."""

    def play(_: DemoShell) -> None:
        raise DemoError("kdiag lab ended with 2")

    with patch.object(command, "play", play):
        done = kdiag("demo")
    assert (done.code, done.err) == (1, "kdiag: kdiag lab ended with 2\n")
    (tmp_path / "file").touch()
    assert kdiag("demo", "--keep", tmp_path / "file" / "x").code == 1
