import os
from pathlib import Path

import pytest

from kdiag.client.config.profiles import read_profile
from programs.kdiag_program import kdiag

FILE = """\
current_profile: prod
profiles:
  - name: local
    kafka_api:
      brokers: [a:9092]
  - name: prod
    prompt: x
    kafka_api:
      brokers: [b:9092]
      admin: c
      sasl:
        user: alice
        password: 's3"cret'
        mechanism: PLAIN
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of rpk's; profiles are kept beside it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "rpk.yaml"
    path.write_text(FILE)
    return path


def test_what_would_be_added_is_printed_without_secrets(file: Path) -> None:
    """Nothing is written, and what has no place is told."""
    done = kdiag("config", "import", file)

    assert done.code == 0
    assert '[profiles."prod"]\n"bootstrap.servers" = "b:9092"\n' in done.out
    assert '"sasl.password" = "<redacted>"' in done.out
    assert "s3" not in done.out + done.err
    assert done.err == "kdiag: profile prod: no place for admin\n"
    assert not (file.parent / "kdiag").exists()


def test_profiles_are_added_for_their_owner_alone(file: Path) -> None:
    """They can be used at once; the one in force there is in force here."""
    assert kdiag("config", "import", file, "--write").code == 0

    target = file.parent / "kdiag" / "config.toml"
    assert target.stat().st_mode & 0o777 == 0o600
    current = read_profile(target, None)
    assert current is not None
    assert current.name == "prod"
    assert {each.key: each.value for each in current.settings}["sasl.password"] == 's3"cret'
    again = kdiag("config", "import", file, "--write")
    assert again.code == 2
    assert "has profiles local, prod already" in again.err


def test_what_would_start_a_program_is_left_out(file: Path) -> None:
    """A profile may start programs, so a file from someone else must not bring them in unseen."""
    other = file.parent / "a.properties"
    other.write_text(
        "bootstrap.servers=a\nsasl.oauthbearer.token.command=touch x\nsasl.password=${env:A}\n"
    )
    done = kdiag("config", "import", other, "--profile", "mine")
    assert done.out == '[profiles."mine"]\n"bootstrap.servers" = "a"\n'
    assert "left out sasl.oauthbearer.token.command, sasl.password" in done.err
    assert f"add --allow-programs if you trust {other}" in done.err
    done = kdiag("config", "import", other, "--allow-programs")
    assert '"sasl.oauthbearer.token.command" = "touch x"' in done.out
    assert done.err == ""


def test_one_can_be_chosen_and_the_only_one_renamed(file: Path) -> None:
    """A name that is not there is told with those that are."""
    assert kdiag("config", "import", file, "--profile", "local").out.count("[profiles") == 1
    assert "there are: local, prod" in kdiag("config", "import", file, "--profile", "x").err
    (file.parent / "a.properties").write_text("bootstrap.servers=a\n")
    named = kdiag("config", "import", file.parent / "a.properties", "--profile", "mine")
    assert named.out.startswith('[profiles."mine"]')


def test_a_file_that_cannot_be_written_is_wrong_usage(file: Path) -> None:
    """In one line."""
    (file.parent / "kdiag").write_text("in the way")
    done = kdiag("config", "import", file, "--write")

    assert done.code == 2
    assert os.linesep not in done.err.strip().partition("added")[0].partition("admin\n")[2]
