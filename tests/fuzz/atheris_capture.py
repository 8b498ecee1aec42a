"""A coverage-guided fuzzer of the capture reader, for long runs by hand.

    pip install atheris
    python tests/fuzz/atheris_capture.py FOLDER -max_len=70000 -rss_limit_mb=500 -timeout=60

FOLDER keeps the inputs that reached new code; it is filled with the captures that ship first. The
memory is that of the fuzzer and of the code that it has instrumented, too; its time is that of the
wall, so an input that takes two seconds of CPU fails by itself.
"""

import gc
import sys
import time
from itertools import count
from pathlib import Path
from typing import Final

import atheris

sys.path.insert(0, str(Path(__file__).parents[1] / "rig"))

with atheris.instrument_imports(include=["kdiag"]):
    from made_values import fuzz_target

COLLECT_SHARE: Final = 20
MAX_INPUT_S: Final = 2.0
_numbers = count()


def read(data: bytes) -> None:
    """Read an input; now and then free what many inputs together have left behind."""
    started_s = time.process_time()
    fuzz_target.read_capture(data)
    took_s = time.process_time() - started_s
    assert took_s < MAX_INPUT_S, f"{took_s:.1f} s of CPU"
    if not next(_numbers) % COLLECT_SHARE:
        gc.collect()


def seed(folder: Path) -> None:
    """Put the captures that ship where the fuzzer starts from."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, capture in enumerate(fuzz_target.captures(None)):
        (folder / f"capture-{number}").write_bytes(capture)


if __name__ == "__main__":
    seed(Path(next(argument for argument in sys.argv[1:] if not argument.startswith("-"))))
    atheris.Setup(sys.argv, read)
    atheris.Fuzz()
