"""The Python interpreters of this machine: those on the path, and pyenv's."""

import os
import shutil
import subprocess
from pathlib import Path


def find_interpreter(minor: str) -> Path | None:
    """Return an interpreter that can make virtual environments; None if there is none.

    Args:
        minor: its release, such as `3.13`.
    """
    name = f"python{minor}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    on_path = filter(None, [shutil.which(name)])
    found = [*map(Path, on_path), *sorted(pyenv.glob(f"versions/{minor}.*/bin/{name}"))]
    return next((each for each in found if _is_whole(each)), None)


def _is_whole(python: Path) -> bool:
    """Return whether it runs, which pyenv's stand-ins on the path may not, and has pip."""
    command = [str(python), "-c", "import ensurepip"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
