"""Files by URI: local paths, and files in pyarrow's file systems (HDFS, S3 and so on).

What is called a URI here is a local path, or a URI such as `s3://bucket/folder/a.pcap` or
`hdfs://name:8020/folder`.
"""

import io
import re
from collections.abc import Iterator
from os.path import realpath
from pathlib import PurePosixPath
from typing import BinaryIO, Final, NamedTuple, cast

import pyarrow as pa
from pyarrow import fs

from kdiag.errors import CaptureError

_LOCAL: Final = fs.LocalFileSystem()
_SLASHES: Final = re.compile("/+")


def resolve(uri: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a URI, and the path in it.

    Raises:
        CaptureError: if no file system has the URI's scheme.
    """
    if "://" not in uri:
        return _LOCAL, str(uri)
    try:
        system, path = fs.FileSystem.from_uri(uri)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CaptureError(uri, f"cannot be opened: {error}") from error
    return system, path


def open_file(uri: str) -> BinaryIO:
    """Open a file for reading; it supports seeking.

    Raises:
        CaptureError: if it cannot be opened.
    """
    system, path = resolve(uri)
    try:
        if isinstance(system, fs.LocalFileSystem):
            return cast("BinaryIO", io.FileIO(path))
        return cast("BinaryIO", system.open_input_file(path))
    except OSError as error:
        why = error.strerror or str(error)
        raise CaptureError(uri, f"cannot be opened: {why}") from error


def map_file(uri: str) -> memoryview:
    """Return the bytes of a local file, mapped into memory.

    Raises:
        CaptureError: if it is not local or cannot be opened.
    """
    system, path = resolve(uri)
    if not isinstance(system, fs.LocalFileSystem):
        raise CaptureError(uri, "cannot be mapped into memory: it lies in no folder here")
    try:
        return memoryview(pa.memory_map(path).read_buffer())
    except OSError as error:
        raise CaptureError(uri, f"cannot be opened: {error}") from error


def is_local(uri: str) -> bool:
    """Return whether a URI is of a file system of this machine."""
    system, _ = resolve(uri)
    return isinstance(system, fs.LocalFileSystem)


class FileState(NamedTuple):
    """What changes when a file is written to: its size in bytes, and when that was, since 1970."""

    size: int
    mtime_ns: int


def state_of(uri: str) -> FileState:
    """Return the state of a file.

    Raises:
        CaptureError: if there is no such file.
    """
    system, path = resolve(uri)
    info = system.get_file_info(path)
    if info.type != fs.FileType.File:
        raise CaptureError(uri, "cannot be opened: there is no such file")
    return FileState(int(info.size), int(info.mtime_ns or 0))


def canonical(uri: str) -> str:
    """Return the one name of a file or folder, however it is spelled: of a link, its target."""
    scheme, separator, rest = uri.partition("://")
    if separator and scheme != "file":
        return f"{scheme}://{_SLASHES.sub('/', rest).removesuffix('/')}"
    _, path = resolve(uri)
    return realpath(path)


def is_folder(uri: str) -> bool:
    """Return whether a URI is a folder."""
    system, path = resolve(uri)
    return bool(system.get_file_info(path).type == fs.FileType.Directory)


def expand(uris: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield files and the files in folders, each with whether it was found in a folder.

    Raises:
        CaptureError: if a URI does not exist.
    """
    for uri in uris:
        system, path = resolve(uri)
        info = system.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise CaptureError(uri, "cannot be opened: No such file or directory")
        if info.type != fs.FileType.Directory:
            yield uri, False
            continue
        found = system.get_file_info(fs.FileSelector(path))
        for each in sorted(found, key=lambda each: str(each.path)):
            if each.type == fs.FileType.File:
                yield f"{uri.removesuffix('/')}/{PurePosixPath(each.path).name}", True


def folders_in(uri: str) -> list[str]:
    """Return the names of the folders in a folder; none if it does not exist."""
    system, path = resolve(uri)
    found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return [str(each.base_name) for each in found if each.type == fs.FileType.Directory]


def create_parent(system: fs.FileSystem, path: str) -> None:
    """Create the folder of a file, if the file system has folders."""
    if isinstance(system, fs.LocalFileSystem):
        system.create_dir(path.rpartition("/")[0], recursive=True)


def remove_folder(uri: str) -> None:
    """Remove a folder with everything in it, if it exists."""
    system, path = resolve(uri)
    if system.get_file_info(path).type == fs.FileType.Directory:
        system.delete_dir(path)
