"""A capture cut into several, as a recorder rotates them, and a stream that reads them."""

import os
from itertools import pairwise
from pathlib import Path
from typing import Final

from folders import CAPTURES
from kdiag.pipeline.job import Job
from kdiag.pipeline.streams.states import StreamJob
from spark_runs.pipeline_parts import CHOICE

FIRST_S: Final = 1_000_000_000
"""When the first capture of a folder was written."""


def rotated(tmp_path: Path, count: int, name: str = "transaction") -> Path:
    """Return a folder of captures that were rotated: connections run through many of them."""
    data = (CAPTURES / f"{name}.pcap").read_bytes()
    whole, packets = data[:24], packet_starts(data)
    edges = [packets[len(packets) * number // count] for number in range(count)] + [len(data)]
    (tmp_path / "in").mkdir()
    for number, (first, last) in enumerate(pairwise(edges)):
        file = tmp_path / "in" / f"{number:02}.pcap"
        file.write_bytes(whole + data[first:last])
        os.utime(file, (FIRST_S + number, FIRST_S + number))
    return tmp_path / "in"


def packet_starts(data: bytes | bytearray) -> list[int]:
    """Return where the packets of a pcap file begin, and behind them its end."""
    packets = [24]
    while packets[-1] < len(data):
        size = int.from_bytes(data[packets[-1] + 8 : packets[-1] + 12], "little")
        packets.append(packets[-1] + 16 + size)
    return packets


def job_of(folder: Path, most_files: int) -> StreamJob:
    """Return a stream of a folder into folders beside it."""
    out, checkpoint = str(folder.parent / "out"), str(folder.parent / "checkpoint")
    job = Job((), out, name="s", choice=CHOICE, parts=2)
    return StreamJob(str(folder), checkpoint, job, most_files=most_files, is_once=True)
