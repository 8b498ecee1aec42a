"""Values that all tasks of a run read: written once, and read once by each worker process.

    splits = share(job.staging, in_order(walks), list[Split])
    frame.mapInArrow(partial(work, splits), ...)        # a URI travels with each task
    splits.value                                        # in the task: read, and kept

Spark sends everything that a function refers to with every task. With 160,000 splits that was 115
MB for each of 81,920 tasks; what grows with the run must not travel so. A value lies in the run's
staging folder instead, which all machines reach.
"""

from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4

import msgspec

from kdiag.errors import ReportError
from kdiag.pipeline.output.whole_files import read_whole, write_whole

T = TypeVar("T")


class Shared(NamedTuple, Generic[T]):
    """A value in a file, as small as its URI.

    Attributes:
        uri: of the file; no other value ever has the same.
        kind: the type that the file is read as.
    """

    uri: str
    kind: Any

    @property
    def value(self) -> T:
        """Return the value; a process reads it once.

        Raises:
            ReportError: if the file is missing.
        """
        value: T = _read(self)
        return value


def share(folder: str, value: T, kind: type[T]) -> Shared[T]:
    """Write a value for the tasks of a run.

    Args:
        folder: all machines must reach it; whoever gave it removes it.
        value: made of types that msgspec knows.
        kind: its type.
    """
    uri = f"{folder}/shared-{uuid4().hex}.msgpack"
    write_whole(uri, msgspec.msgpack.encode(value))
    return Shared(uri, kind)


@lru_cache(maxsize=8)
def _read(shared: Shared[Any]) -> Any:
    data = read_whole(shared.uri)
    if data is None:
        raise ReportError(shared.uri, "is missing: has another run of the same name begun?")
    return msgspec.msgpack.decode(data, type=shared.kind)
