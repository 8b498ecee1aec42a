import subprocess
import sys
from pathlib import Path

import pytest

from tiers.sampling import IS_EXHAUSTIVE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")
INPUTS = 20_000 if IS_EXHAUSTIVE else 100


@pytest.mark.thorough
def test_no_damaged_input_breaks_a_rule(tmp_path: Path) -> None:
    """Damaged bytes raise kdiag's own errors alone, in bounded time and memory."""
    command = [sys.executable, str(Path(__file__).with_name("run.py")), "--inputs", str(INPUTS)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{INPUTS} inputs, slowest ")
