"""The scenarios that come with kdiag: one file each, in folders by theme.

for each in shipped_scenarios():
    each.theme, each.scenario.name, each.scenario.teaches
find_scenario("slow-member")            # by its name, or a file of one's own
"""

from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.errors import ConfigError
from kdiag.lab.scenario.scenario import Scenario
from kdiag.lab.scenario.scenario_file import parse_scenario, read_scenario

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_LIBRARY: Final = files("kdiag.lab.scenario") / "library"
_ENDING: Final = ".yaml"
_ENDINGS: Final = frozenset({_ENDING, ".yml", ".json"})


class ShippedScenario(NamedTuple):
    """A scenario that comes with kdiag.

    Attributes:
        theme: what it is about, in a word: the folder that it is in.
        file: its text.
    """

    theme: str
    file: "Traversable"

    @property
    def name(self) -> str:
        """Return its name."""
        return self.file.name.removesuffix(_ENDING)

    @property
    def scenario(self) -> Scenario:
        """Return the scenario itself."""
        return parse_scenario(self.file.read_text(encoding="utf-8"), f"{self.theme}/{self.name}")


def shipped_scenarios() -> list[ShippedScenario]:
    """Return all that come with kdiag, by theme and name."""
    return sorted(
        (
            ShippedScenario(theme.name, each)
            for theme in _LIBRARY.iterdir()
            if theme.is_dir()
            for each in theme.iterdir()
            if each.name.endswith(_ENDING)
        ),
        key=lambda each: (each.theme, each.name),
    )


def shipped_file(name: str) -> "Traversable":
    """Return the file of the scenario that comes with kdiag under a name.

    Raises:
        ConfigError: if there is none.
    """
    found = next((each.file for each in shipped_scenarios() if each.name == name), None)
    if found is None:
        why = "is neither a file nor a scenario of kdiag's; `kdiag lab scenarios` lists those"
        raise ConfigError("", name, why)
    return found


def find_scenario(text: str) -> Scenario:
    """Return the scenario of a file, or the one that comes with kdiag under this name.

    Raises:
        ConfigError: if there is none, or the file holds something else.
    """
    path = Path(text)
    if path.suffix in _ENDINGS or path.exists():
        return read_scenario(path)
    with as_file(shipped_file(text)) as file:
        return read_scenario(file)
