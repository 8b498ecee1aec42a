"""A program that commits a run over and over until it is killed, as long as it takes.

    python -m spark_runs.endless_commits DIR

The run has 1 row, then 31, then 1 again: a file for each. No reader may count anything between.
"""

import sys
from itertools import cycle
from pathlib import Path
from typing import Final

from kdiag.pipeline.output.run_log import commit, open_log, staging_folder, sweep
from kdiag.report.run_log import LoggedRun
from kdiag.report.uri import remove_folder
from spark_runs.written_tables import stage

ROWS: Final = (1, 31)
_RUN: Final = "r"
_DAY_NS: Final = 86_400_000_000_000


def main(folder: Path) -> None:
    """Commit until killed."""
    for rows in cycle(ROWS):
        remove_folder(staging_folder(str(folder), _RUN))
        sweep(str(folder), 0)
        written = stage(folder, _RUN, *((day * _DAY_NS, "b:1", "a") for day in range(rows)))
        commit(str(folder), open_log(str(folder)), LoggedRun(_RUN), written)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
