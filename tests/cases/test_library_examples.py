"""The examples of `kdiag help library` run as they stand, and show all of `kdiag.__all__`."""

import re
from pathlib import Path

import pytest

import kdiag
from folders import ROOT
from scripted_kafka.scripted_cluster import ScriptedCluster
from tiers.cases import for_each

TOPIC = (ROOT / "cmd" / "kdiag_cli" / "help" / "library" / "library.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TOPIC, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_as_it_stands(
    example: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the folder of the repository, where the captures are; a cluster is at another port."""
    monkeypatch.chdir(ROOT)
    with ScriptedCluster(1) as cluster:
        exec(compile(example.replace("localhost:9092", cluster.bootstrap), "example", "exec"), {})

    assert capsys.readouterr().out.strip()


@for_each("example", EXAMPLES)
def test_an_example_is_short(example: str) -> None:
    """Five lines beside the imports."""
    lines = [line for line in example.splitlines() if line and "import" not in line]

    assert len(lines) <= 5


@for_each("name", kdiag.__all__)
def test_every_name_is_there_and_shown(name: str) -> None:
    """What `__all__` promises can be had, and `dir` lists it."""
    assert getattr(kdiag, name) is not None
    assert name in dir(kdiag)
    assert name == "__version__" or f"`{name}`" in TOPIC


def test_no_other_name_is_there() -> None:
    """A misspelt one is the usual error."""
    with pytest.raises(AttributeError, match="no attribute 'open_captures'"):
        _ = kdiag.open_captures  # type: ignore[attr-defined]


def test_the_types_are_marked_as_complete() -> None:
    """By the file that PEP 561 asks for."""
    assert Path(kdiag.__file__).with_name("py.typed").read_bytes() == b""
