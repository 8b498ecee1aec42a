"""The options of `kdiag decode`, checked and turned into what the library takes."""

import re
from pathlib import Path
from typing import Final

import msgspec
import typer

from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.selection import Selection
from kdiag_cli.options.captures import CaptureInputs

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s|m|)", re.IGNORECASE)
_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
}
_SIZE: Final = re.compile(r"(\d{1,12})\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_SHIFTS: Final = {"": 0, "k": 10, "m": 20, "g": 30}
_RATE: Final = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*([kmg])bit(?:/s)?", re.IGNORECASE)
_BITS: Final = {"k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


class DecodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `kdiag decode`, validated.

    Attributes:
        inputs: the captures, or the interface to capture from.
        output: `text`, `jsonl`, `json`, `csv` or `parquet`.
        out: the folder for the tables of `parquet`; None with every other output.
        bodies: whether these tables hold the bodies.
        form: how bodies are shown.
        selection: which exchanges are wanted.
        summary: whether to count instead of listing.
        show, explain: the number of the one exchange to print in full, or byte by byte.
        tcp: whether to report the facts of TCP for each connection.
        sort: whether to order by time.
    """

    inputs: CaptureInputs
    output: str = "text"
    out: Path | None = None
    bodies: bool = True
    form: BodyForm = BodyForm()
    selection: Selection = Selection()
    summary: bool = False
    show: int | None = None
    explain: int | None = None
    tcp: bool = False
    sort: bool = False


def read_duration_ns(text: str | None) -> int | None:
    """Return a duration such as `50ms`, `1.5s` or `800us`; a bare number is milliseconds."""
    if text is None:
        return None
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        why = f"{text!r} is not a duration: give one such as 50ms, 1.5s or 800us"
        raise typer.BadParameter(why, param_hint="'--min-latency'")
    number, unit = match.groups()
    return round(float(number) * _NS[unit.lower()])


def read_size(text: str, hint: str) -> int:
    """Return a size such as `100M`, `64k` or `1000` in bytes; k, M and G are powers of 1024."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        why = f"{text!r} is not a size: give one such as 100M, 64k or 4096"
        raise typer.BadParameter(why, param_hint=hint)
    number, unit = match.groups()
    return int(number) << _SHIFTS[unit.lower()]


def read_bits_per_s(text: str) -> int:
    """Return a rate such as `1Gbit` or `200Mbit` in bits per second."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        why = f"{text!r} is not a rate: give one such as 1Gbit or 200Mbit"
        raise typer.BadParameter(why, param_hint="'--rate'")
    number, unit = match.groups()
    return round(float(number) * _BITS[unit.lower()])
