"""What README and the help topics show of kdiag, compared with what it prints, and renewed.

    PYTHONPATH=cmd:tests/rig python -m programs.transcripts

runs every command that stands in a block behind `$ kdiag`, writes what it prints in its place, and
draws the picture of README. A line `...` stands for lines that are left out: a transcript that has
one keeps its lines. What needs a cluster is run against a lab that has what the text says of it.

Read the difference before it is committed.
"""

import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

from folders import CAPTURES, ROOT
from kdiag_cli.commands.help.topics import TOPICS
from programs.child_program import ChildProgram
from programs.kdiag_program import kdiag, kdiag_on_terminal, start_kdiag

PICTURE: Final = CAPTURES / "disk_full.svg"
PICTURED: Final = ("decode", "captures/disk_full.pcap", "--summary")
WIDTH: Final = 80
BOOTSTRAP: Final = "127.0.0.1:9092"
LEFT_OUT: Final = "..."

_PICTURE_COLUMNS: Final = 100
_PICTURE_LINES: Final = 14
_BLOCK: Final = re.compile(r"^```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND: Final = re.compile(r"^\$ ", re.MULTILINE)
_SGR: Final = re.compile(r"\x1b\[([0-9;]*)m")
_CLASSES: Final = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}
_VARYING: Final = (
    (re.compile(r"\d[\d.,]* (?:ns|µs|ms|s|min|h|d)\b"), "TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), BOOTSTRAP),
    (re.compile(r"\bcluster [\w-]{22}"), "cluster ID"),
)


class Scene(NamedTuple):
    """A lab against which a command of a text is run.

    Attributes:
        lab: its arguments.
        before: commands that are run on it first.
    """

    lab: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()


SCENES: Final = {
    "check": Scene(("--fault", "advertise=localhost:1")),
    "groups": Scene(
        ("--topic", "clicks:1", "--seed-records", "60"),
        (("tail", "clicks", "-g", "billing", "--from-beginning", "--commit", "-n", "20"),),
    ),
}
"""By command; `-b 127.0.0.1:9092` in a text is the lab."""


class Transcript(NamedTuple):
    """A command in a text, with what the text says that it prints."""

    file: Path
    line: str
    shown: str

    @property
    def arguments(self) -> list[str]:
        """Return the arguments of kdiag."""
        return shlex.split(self.line)[1:]

    @property
    def is_shortened(self) -> bool:
        """Return whether a line says that lines are left out."""
        return LEFT_OUT in self.shown.splitlines()

    @property
    def captures(self) -> list[Path]:
        """Return the captures that it reads, wherever they are."""
        return [ROOT / each for each in self.arguments if re.search(r"\.pcap(ng)?$", each)]

    @property
    def can_run(self) -> bool:
        """Return whether all that it needs is here."""
        arguments = self.arguments
        if BOOTSTRAP in arguments:
            return arguments[0] in SCENES
        return bool(self.captures) and all(each.exists() for each in self.captures)


def texts() -> list[Path]:
    """Return README and the help topics."""
    return [ROOT / "README.md", *sorted(TOPICS.rglob("*.md"))]


def transcripts(file: Path) -> Iterator[Transcript]:
    """Yield the commands of kdiag in a text that show what they print."""
    for block in _BLOCK.findall(file.read_text(encoding="utf-8")):
        for part in _COMMAND.split(block)[1:]:
            line, _, shown = part.partition("\n")
            if line.startswith("kdiag ") and shown.strip():
                yield Transcript(file, line, shown.strip("\n"))


def printed(transcript: Transcript, port: int = 0) -> str:
    """Return what a command prints on a terminal of 80 columns, stderr behind stdout.

    Args:
        transcript: one that can run.
        port: of the lab that it needs; 0 for any.
    """
    arguments = transcript.arguments
    with _scene_of(arguments, port) as bootstrap:
        chosen = [bootstrap if each == BOOTSTRAP else each for each in arguments]
        done = kdiag_on_terminal(WIDTH, *chosen)
    lines = (done.out + done.err).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def fits(shown: str, text: str) -> bool:
    """Return whether a text shows what was printed, but for times, ports and what it leaves out.

    Words are compared, not lines: a longer time may break a line elsewhere.
    """
    parts = re.split(rf"^{re.escape(LEFT_OUT)}$", shown, flags=re.MULTILINE)
    pattern = ".*".join(re.escape(_comparable(part)) for part in parts)
    return re.fullmatch(pattern, _comparable(text)) is not None


def picture() -> str:
    """Return the picture of README: a run with a finding, in the colours of the reader's system."""
    done = kdiag_on_terminal(_PICTURE_COLUMNS, *PICTURED, has_colours=True)
    prompt = f"$ \x1b[1mkdiag {shlex.join(PICTURED)}\x1b[0m"
    return _svg([prompt, *done.out.splitlines()[:_PICTURE_LINES]])


def _comparable(text: str) -> str:
    """Return the words of a text, with what varies replaced."""
    words = " ".join(text.split())
    for pattern, name in _VARYING:
        words = pattern.sub(name, words)
    return words


@contextmanager
def _scene_of(arguments: list[str], port: int) -> Iterator[str]:
    """Start the lab that a command needs, if any, and yield its address."""
    scene = SCENES.get(arguments[0]) if BOOTSTRAP in arguments else None
    context: Any = nullcontext("") if scene is None else _lab(scene, port)
    with context as bootstrap:
        yield bootstrap


@contextmanager
def _lab(scene: Scene, port: int) -> Iterator[str]:
    pipe = subprocess.PIPE
    arguments = ("lab", *scene.lab, "--port", str(port), "-o", "jsonl")
    with start_kdiag(*arguments, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        try:
            bootstrap = _bootstrap_of(process)
            for command in scene.before:
                done = kdiag(*command, "-b", bootstrap)
                assert done.code == 0, done.err
            yield bootstrap
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def _bootstrap_of(process: ChildProgram) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(rb"127\.0\.0\.1:\d+", line)
        if found:
            return found.group().decode()
    raise AssertionError("the lab ended")


def _svg(lines: list[str]) -> str:
    """Draw lines with ANSI colours as a terminal of 720 pixels shows them."""
    pitch, left, top = 18, 12, 24
    height = top + pitch * len(lines)
    rows = "\n".join(
        f'<text x="{left}" y="{top + pitch * number}">{_spans(line)}</text>'
        for number, line in enumerate(lines)
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="744" height="{height}" viewBox="0 0 744 {height}">
<style>
rect {{ fill: #ffffff; stroke: #d0d7de }}
text {{ fill: #1f2328; white-space: pre }}
text {{ font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace }}
.b {{ font-weight: bold }} .d {{ opacity: 0.6 }}
.r {{ fill: #cf222e }} .g {{ fill: #116329 }} .y {{ fill: #9a6700 }} .c {{ fill: #0a6c74 }}
@media (prefers-color-scheme: dark) {{
rect {{ fill: #0d1117; stroke: #30363d }}
text {{ fill: #e6edf3 }}
.r {{ fill: #ff7b72 }} .g {{ fill: #7ee787 }} .y {{ fill: #e3b341 }} .c {{ fill: #76e3ea }}
}}
</style>
<rect x="0.5" y="0.5" width="743" height="{height - 1}" rx="6"/>
{rows}
</svg>
"""


def _spans(line: str) -> str:
    spans, classes = [], [""]
    for number, part in enumerate(_SGR.split(line.rstrip())):
        if number % 2:
            kept = [] if part in ("", "0") else classes
            classes = [*kept, *(_CLASSES[code] for code in part.split(";") if code in _CLASSES)]
        elif part:
            names = " ".join(filter(None, classes))
            text = escape(part, quote=False)
            spans.append(f'<tspan class="{names}">{text}</tspan>' if names else text)
    return "".join(spans)


def main() -> None:
    """Renew the transcripts and the picture."""
    for file in texts():
        text = file.read_text(encoding="utf-8")
        for each in transcripts(file):
            if each.can_run and not each.is_shortened:
                old, new = (
                    f"$ {each.line}\n{shown}\n" for shown in (each.shown, printed(each, 9092))
                )
                text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
