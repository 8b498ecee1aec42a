"""Python's garbage collector in a worker of Spark, which does one task after the other.

A worker collects garbage after each task, and looks at all objects that it has for that: 45 ms for
its modules alone, more than a small task takes. What a worker has before its first task is there to
stay, and need not be looked at.
"""

import gc
from typing import Final

_THRESHOLD: Final = 20_000


def settle() -> None:
    """Have the collector pass over what is there now, once in a process, and come seldom."""
    gc.set_threshold(_THRESHOLD)
    if not gc.get_freeze_count():
        gc.freeze()
