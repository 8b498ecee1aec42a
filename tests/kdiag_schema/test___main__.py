import json
import zipfile
from pathlib import Path

import pytest

from kdiag_schema.__main__ import main


def write_release(jars: Path) -> None:
    """Write a Kafka of a single API, whose key is SaslHandshake's."""
    jars.mkdir()
    with zipfile.ZipFile(jars / "kafka-clients-9.8.7.jar", "w") as archive:
        for kind in ("Request", "Response"):
            schema = {
                "apiKey": 17,
                "type": kind.lower(),
                "name": f"SaslHandshake{kind}",
                "validVersions": "0-1",
                "flexibleVersions": "none",
                "fields": [{"name": "Mechanism", "type": "string", "versions": "0+"}],
            }
            archive.writestr(f"common/message/SaslHandshake{kind}.json", json.dumps(schema))


@pytest.mark.thorough
def test_the_program_writes_the_modules_and_the_tables(tmp_path: Path) -> None:
    """Everything that schemas make comes from one command."""
    write_release(tmp_path / "jars")
    main(["--jars", str(tmp_path / "jars"), "--into", str(tmp_path / "tree")])
    written = {str(each.relative_to(tmp_path / "tree")) for each in tmp_path.rglob("*.py")}
    assert written == {
        "kdiag/wire/api/sasl_handshake.py",
        "kdiag/wire/api/table.py",
        "kdiag/wire/api_keys.py",
        "kdiag/wire/internal/table.py",
    }
    module = (tmp_path / "tree/kdiag/wire/api/sasl_handshake.py").read_text()
    assert 'mechanism: String = ""' in module


@pytest.mark.thorough
def test_what_java_has_to_be_asked_is_written_on_demand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Fetching all of them takes minutes."""
    write_release(tmp_path / "jars")
    monkeypatch.setattr("kdiag_schema.__main__.client_table", lambda: "RELEASES  = ()\n")
    monkeypatch.setattr(
        "kdiag_schema.__main__.config_table", lambda releases: f"A  = {releases[0][0]!r}\n"
    )
    main(["--jars", str(tmp_path / "jars"), "--into", str(tmp_path / "tree"), "--clients"])
    assert (tmp_path / "tree/kdiag/wire/client_table.py").read_text() == "RELEASES = ()\n"
    configs = (tmp_path / "tree/kdiag/exchange/secrets/harmless_configs.py").read_text()
    assert configs == 'A = "9.8.7"\n'


def test_a_program_without_a_release_says_what_it_wants(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """There is nothing to write classes from."""
    with pytest.raises(SystemExit) as error:
        main([])
    assert error.value.code == 2
    assert "name a release with --kafka or --jars" in capsys.readouterr().err
