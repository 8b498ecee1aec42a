import sys
from pathlib import Path

import pytest

from kdiag.errors import ConfigError
from kdiag_cli.output.pages.chart_script import ChartScript

WHOLE = "/* drawn */" + " " * 100_000


def kept_file(folder: Path) -> Path:
    """Return where the script is kept if caches are in a folder."""
    script = ChartScript({"XDG_CACHE_HOME": str(folder)})
    script.discard()
    return script._file


@pytest.mark.thorough
def test_a_script_that_was_kept_is_taken(tmp_path: Path) -> None:
    """Nothing is started; the folder is the user's own for caches."""
    file = kept_file(tmp_path)
    file.parent.mkdir()
    file.write_text(WHOLE)

    script = ChartScript({"XDG_CACHE_HOME": str(tmp_path)})

    assert script._maker is None
    assert script.text() == WHOLE
    assert file.parent == tmp_path / "kdiag"
    assert kept_file(Path("relative")).parts[-3:-1] == (".cache", "kdiag")


@pytest.mark.thorough
@pytest.mark.parametrize("text", ["short", WHOLE + "</SCRIPT>"], ids=["short", "ends the block"])
def test_what_cannot_be_the_script_is_made_anew(tmp_path: Path, text: str) -> None:
    """A file that is cut, or that would end the block it stands in, is not believed."""
    file = kept_file(tmp_path)
    file.parent.mkdir()
    file.write_text(text)

    script = ChartScript({"XDG_CACHE_HOME": str(tmp_path)})
    script.discard()

    assert script._text is None


@pytest.mark.thorough
def test_a_library_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error that names the option."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    script = ChartScript({"XDG_CACHE_HOME": str(tmp_path)})

    with pytest.raises(ConfigError, match=r"--html .*draws charts has failed"):
        script.text()


@pytest.mark.soak
def test_the_script_is_made_once_and_kept(tmp_path: Path) -> None:
    """It takes seconds, so the next page has it at once; where nothing can be kept it works too."""
    environment = {"XDG_CACHE_HOME": str(tmp_path / "caches")}
    made = ChartScript(environment).text()
    again = ChartScript(environment)

    assert again._maker is None
    assert again.text().count("vegaEmbed")
    assert "vegaEmbed" in made
    (tmp_path / "file").touch()
    assert ChartScript({"XDG_CACHE_HOME": str(tmp_path / "file")}).text().count("vegaEmbed")
