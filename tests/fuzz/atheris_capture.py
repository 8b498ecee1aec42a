"""A coverage-guided fuzzer of the capture reader, for long runs by hand.

    pip install atheris
    python tests/fuzz/atheris_capture.py FOLDER -max_len=70000 -rss_limit_mb=300 -timeout=2

FOLDER keeps the inputs that reached new code; it is filled with the captures that ship first.
"""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1] / "rig"))

with atheris.instrument_imports(include=["kdiag"]):
    import fuzz_target


def seed(folder: Path) -> None:
    """Put the captures that ship where the fuzzer starts from."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, capture in enumerate(fuzz_target.captures(None)):
        (folder / f"capture-{number}").write_bytes(capture)


if __name__ == "__main__":
    seed(Path(next(argument for argument in sys.argv[1:] if not argument.startswith("-"))))
    atheris.Setup(sys.argv, fuzz_target.read_capture)
    atheris.Fuzz()
