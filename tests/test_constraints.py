import tomllib
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from folders import ROOT

FILE: Final = Path(ROOT, ".github", "constraints.txt")
_OWN: Final = {"test", "dev"}
"""Extras that develop kdiag, not needed to run it."""


def _entries() -> dict[str, tuple[Requirement, int]]:
    """Return what the file pins, by name, with the number of hashes."""
    text = FILE.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split(" --hash=") for line in text.splitlines() if line[:1] not in {"", "#"}]
    pinned = [(Requirement(line[0].strip()), len(line) - 1) for line in lines]
    return {requirement.name.lower(): (requirement, hashes) for requirement, hashes in pinned}


def test_constraints_pin_every_dependency_to_a_version_that_fits_and_to_hashes() -> None:
    """Whoever installs from them gets what was tested; what an index has since is no matter."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].items()
    wanted = [
        *project["dependencies"],
        *(each for name, of in extras if name not in _OWN for each in of),
    ]
    pinned = _entries()
    assert all(hashes for _, hashes in pinned.values())
    for requirement in map(Requirement, wanted):
        if requirement.name == project["name"]:
            continue
        pin, _ = pinned[requirement.name.lower()]
        (version,) = pin.specifier
        assert version.operator == "=="
        assert requirement.specifier.contains(version.version), requirement.name
