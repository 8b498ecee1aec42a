import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdiag.exchange.secrets.new_file import is_private_folder, make_private_folder, open_new


def mode_of(path: Path) -> int:
    """Return the rights of a file, not of what it may link to."""
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    """Have files that others may read, as nearly everywhere."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize(("is_private", "mode"), [(True, 0o600), (False, 0o644)])
def test_a_file_has_rights_of_its_own(tmp_path: Path, mode: int, *, is_private: bool) -> None:
    """Whatever the old one had; who has that open reads on in it, and nothing new."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o666)
    with path.open("rb") as reader:
        with open_new(path, is_private=is_private) as file:
            assert mode_of(path) == mode
            file.write(b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """Nor is one to nowhere, which would make a file there."""
    target, nowhere = tmp_path / "target", tmp_path / "nowhere"
    target.write_bytes(b"precious")
    for name, to in (("one", target), ("other", nowhere)):
        link = tmp_path / name
        link.symlink_to(to)
        open_new(link, is_private=True).close()
        assert (link.is_symlink(), link.read_bytes()) == (False, b"")
    assert target.read_bytes() == b"precious"
    assert not nowhere.exists()


def test_what_stands_in_the_way_stays(tmp_path: Path) -> None:
    """A folder is no file, and nothing is left beside it."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        open_new(tmp_path / "folder", is_private=False)
    with pytest.raises(FileNotFoundError):
        open_new(tmp_path / "none" / "file", is_private=False)
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_devices_and_pipes_are_written_to(tmp_path: Path) -> None:
    """Someone reads at their other end."""
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with open_new(pipe, is_private=True) as file:
        file.write(b"packets")
    reader.join()
    assert got == [b"packets"]
    with open_new(Path("/dev/null"), is_private=True) as file:
        file.write(b"packets")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_folder_is_private_if_its_owner_alone_may_enter_it(tmp_path: Path) -> None:
    """A link to such a one is not, nor a file, nor one that others may only list."""
    own, link, file = tmp_path / "own", tmp_path / "link", tmp_path / "file"
    own.mkdir(mode=0o700)
    link.symlink_to(own)
    file.touch(mode=0o600)
    assert [is_private_folder(each) for each in (own, link, file)] == [True, False, False]
    for mode in (0o777, 0o750, 0o705, 0o704):
        own.chmod(mode)
        assert not is_private_folder(own), oct(mode)


def test_folders_that_are_made_on_the_way_are_private_too(tmp_path: Path) -> None:
    """Those that were there keep their rights."""
    made, old = tmp_path / "a" / "b", tmp_path / "old"
    old.mkdir(mode=0o755)
    for folder in (made, made, old, old / "c"):
        make_private_folder(folder)
    assert [mode_of(each) for each in (made, made.parent, old / "c")] == [0o700] * 3
    assert mode_of(old) == 0o755
