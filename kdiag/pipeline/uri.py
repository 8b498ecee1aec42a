"""Files wherever they lie: local paths, and what pyarrow's file systems reach (HDFS, S3 and so on).

A place is a path, or a URI such as `s3://bucket/folder/a.pcap` or `hdfs://name:8020/folder`.
"""

import io
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import BinaryIO, Final, cast

import pyarrow as pa
from pyarrow import fs

from kdiag.errors import CaptureError

_LOCAL: Final = fs.LocalFileSystem()


def resolve(place: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a place, and the path in it.

    Raises:
        CaptureError: no file system is known by the URI's scheme.
    """
    if "://" not in place:
        return _LOCAL, str(place)
    try:
        system, path = fs.FileSystem.from_uri(place)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CaptureError(place, f"cannot be opened: {error}") from error
    return system, path


def open_file(place: str) -> BinaryIO:
    """Open a file for reading; it can be sought in.

    Raises:
        CaptureError: it cannot be opened.
    """
    system, path = resolve(place)
    try:
        if isinstance(system, fs.LocalFileSystem):
            return cast("BinaryIO", io.FileIO(path))
        return cast("BinaryIO", system.open_input_file(path))
    except OSError as error:
        why = error.strerror or str(error)
        raise CaptureError(place, f"cannot be opened: {why}") from error


def map_file(place: str) -> memoryview:
    """Return the bytes of a file that lies in a file system of this machine.

    Raises:
        CaptureError: it does not, or cannot be opened.
    """
    system, path = resolve(place)
    if not isinstance(system, fs.LocalFileSystem):
        raise CaptureError(place, "cannot be mapped into memory: it lies in no folder here")
    try:
        return memoryview(pa.memory_map(path).read_buffer())
    except OSError as error:
        raise CaptureError(place, f"cannot be opened: {error}") from error


def is_here(place: str) -> bool:
    """Return whether a place lies in a file system of this machine."""
    system, _ = resolve(place)
    return isinstance(system, fs.LocalFileSystem)


def size_of(place: str) -> int:
    """Return how many bytes a file has.

    Raises:
        CaptureError: there is no such file.
    """
    system, path = resolve(place)
    info = system.get_file_info(path)
    if info.type != fs.FileType.File:
        raise CaptureError(place, "cannot be opened: there is no such file")
    return int(info.size)


def is_folder(place: str) -> bool:
    """Return whether a place is a folder."""
    system, path = resolve(place)
    return bool(system.get_file_info(path).type == fs.FileType.Directory)


def expand(places: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield the files that some places stand for, and whether they were found in a folder.

    Raises:
        CaptureError: nothing is there.
    """
    for place in places:
        system, path = resolve(place)
        info = system.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise CaptureError(place, "cannot be opened: No such file or directory")
        if info.type != fs.FileType.Directory:
            yield place, False
            continue
        found = system.get_file_info(fs.FileSelector(path))
        for each in sorted(found, key=lambda each: str(each.path)):
            if each.type == fs.FileType.File:
                yield f"{place.removesuffix('/')}/{PurePosixPath(each.path).name}", True


def folders_in(place: str) -> list[str]:
    """Return the names of the folders in a folder, which need not be there."""
    system, path = resolve(place)
    found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return [str(each.base_name) for each in found if each.type == fs.FileType.Directory]


def create_parent(system: fs.FileSystem, path: str) -> None:
    """Make the folder that a file is to lie in, where a file system has folders."""
    if isinstance(system, fs.LocalFileSystem):
        system.create_dir(path.rpartition("/")[0], recursive=True)


def remove_folder(place: str) -> None:
    """Remove a folder with all that is in it, if it is there."""
    system, path = resolve(place)
    if system.get_file_info(path).type == fs.FileType.Directory:
        system.delete_dir(path)
