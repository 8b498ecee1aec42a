"""The folders of the project that tests read."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
CAPTURES: Final = ROOT / "captures"
DATA: Final = ROOT / "tests" / "data"
ORACLE: Final = DATA / "oracle"
TLS_CAPTURES: Final = DATA / "captures_tls"
ODD_CAPTURES: Final = DATA / "captures_odd"
KEY_STORES: Final = DATA / "key_stores"
