"""Files by URI: local paths, and files in pyarrow's file systems (HDFS, S3 and so on).

What is called a URI here is a local path, or a URI such as `s3://bucket/folder/a.pcap`,
`gs://bucket/folder`, `abfss://container@account.dfs.core.windows.net/folder` or
`hdfs://name:8020/folder`. Hadoop's `s3a://` and `s3n://` are `s3://`. In what is to be read, `*`,
`[...]` and, in paths, `?` stand for any characters but a slash, and `**` for any folders.
"""

import io
import re
from collections.abc import Iterable, Iterator
from os.path import realpath
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, NamedTuple, cast

import pyarrow as pa
from pyarrow import fs

from kdiag.errors import CaptureError

_LOCAL: Final = fs.LocalFileSystem()
_RELATIVE: Final = (
    "is relative, and Spark runs elsewhere, in folders of its own: give an absolute path or a URI"
)
_SLASHES: Final = re.compile("/+")
_ALIASES: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
_WILDCARD: Final = re.compile(r"[*?\[]")
_WILDCARD_IN_URI: Final = re.compile(r"[*\[]")  # a question mark begins options there


def resolve(uri: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a URI, and the path in it.

    Raises:
        CaptureError: if no file system has the URI's scheme.
    """
    if "://" not in uri:
        return _LOCAL, str(uri)
    try:
        system, path = fs.FileSystem.from_uri(_by_arrows_scheme(uri))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CaptureError(uri, f"cannot be opened: {error}") from error
    return system, path


def _by_arrows_scheme(uri: str) -> str:
    """Return a URI with the scheme that Arrow calls its file system."""
    scheme, separator, rest = uri.partition("://")
    return f"{_ALIASES.get(scheme, scheme)}{separator}{rest}"


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
    scheme, separator, rest = _by_arrows_scheme(uri).partition("://")
    if separator and scheme != "file":
        return f"{scheme}://{_SLASHES.sub('/', rest).removesuffix('/')}"
    _, path = resolve(uri)
    return realpath(path)


def require_absolute(uris: Iterable[str]) -> None:
    """Require that all machines of a cluster take paths for the same.

    Raises:
        CaptureError: if one is relative.
    """
    for uri in uris:
        if "://" not in uri and not PurePosixPath(uri).is_absolute():
            raise CaptureError(uri, _RELATIVE)


def is_folder(uri: str) -> bool:
    """Return whether a URI is a folder."""
    system, path = resolve(uri)
    return bool(system.get_file_info(path).type == fs.FileType.Directory)


def expand(uris: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield files and the files in folders, each with whether it was found in a folder.

    Wildcards are looked for where no file has that very name.

    Raises:
        CaptureError: if a URI does not exist, or nothing is like it.
    """
    for uri in uris:
        if has_wildcard(uri):
            yield from ((found, True) for found in _matching(uri))
            continue
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


def has_wildcard(uri: str) -> bool:
    """Return whether a URI stands for the files that are like it."""
    if "://" in uri:
        return _WILDCARD_IN_URI.search(uri) is not None
    return _WILDCARD.search(uri) is not None and not Path(uri).exists()


def _matching(uri: str) -> Iterator[str]:
    """Yield the files that are like a URI with wildcards, by name.

    Raises:
        CaptureError: if there is none.
    """
    wildcard = _WILDCARD_IN_URI if "://" in uri else _WILDCARD
    steps = uri.split("/")
    first = next(number for number, step in enumerate(steps) if wildcard.search(step))
    start, pattern = "".join(f"{step}/" for step in steps[:first]), "/".join(steps[first:])
    system, folder = resolve(start or ".")
    is_deep = "/" in pattern or "**" in pattern
    selector = fs.FileSelector(folder, allow_not_found=True, recursive=is_deep)
    like = re.compile(_expression(pattern), re.DOTALL)
    names = (
        str(PurePosixPath(each.path).relative_to(PurePosixPath(folder)))
        for each in system.get_file_info(selector)
        if each.type == fs.FileType.File
    )
    found = sorted(name for name in names if like.fullmatch(name))
    if not found:
        raise CaptureError(uri, "no file is like it")
    yield from (f"{start}{name}" for name in found)


def _expression(pattern: str) -> str:
    """Return a pattern of the shell as a regular expression for a path."""
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", pattern)
    return "".join(known.get(part) or _one_of(part) for part in parts)


def _one_of(part: str) -> str:
    is_set = part.startswith("[") and part.endswith("]")
    return part.replace("[!", "[^", 1) if is_set else re.escape(part)


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
