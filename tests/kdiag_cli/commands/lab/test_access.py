import stat
from pathlib import Path

import javaproperties
import pytest

from kdiag.clock import SystemClock
from kdiag.errors import ConfigError
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.security.listener import PROTOCOLS
from kdiag.lab.security.users import UserStore
from kdiag_cli.commands.lab.access import (
    USERS_VARIABLE,
    make_access,
    read_users,
    write_client_files,
)
from kdiag_cli.commands.lab.options import LabListener, LabOptions
from programs.kdiag_program import kdiag
from tiers.cases import for_each

OPTIONS = LabOptions((), "127.0.0.1", 0, None, "4.3", is_json=False)
HARD = 'p\\ss"w=\u00f6rd'


@pytest.mark.thorough
@for_each("client_auth", ["none", "required"])
@for_each("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_whoever_has_the_files_gets_in(tmp_path: Path, client_auth: str, mechanism: str) -> None:
    """By every listener; passwords may be anything."""
    users = tmp_path / "users.txt"
    users.write_text(f"# of a test\n\nalice:{HARD}\nbob:x\n", encoding="utf-8")
    options = OPTIONS._replace(
        listeners=tuple(map(LabListener, PROTOCOLS)),
        users_file=users,
        client_auth=client_auth,
        mechanisms=(mechanism,),
    )
    access = make_access(options, tmp_path, SystemClock())
    settings = LabSettings(listeners=access.listeners, users=UserStore(access.users))
    with LabCluster(settings) as lab:
        files = write_client_files(lab, access)
        assert files[0].name == "client.properties"
        for protocol, file in zip(PROTOCOLS, files, strict=True):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            found = javaproperties.loads(file.read_text("latin-1"))
            assert found["security.protocol"] == protocol
            assert ("ssl.keystore.location" in found) is (
                "SSL" in protocol and client_auth == "required"
            )
            done = kdiag("request", "Metadata", "{}", "--config", file)
            assert (done.code, done.err) == (0, "")


def test_without_users_there_is_one_with_a_password_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another one each time; a variable may name them, too."""
    monkeypatch.delenv(USERS_VARIABLE, raising=False)
    first, second = read_users(None), read_users(None)
    assert [*first] == [*second] == ["lab"]
    assert first != second
    monkeypatch.setenv(USERS_VARIABLE, "carol:a:b\ndave:")
    assert read_users(None) == {"carol": "a:b", "dave": ""}


@pytest.mark.parametrize("text", ["secret", ":secret", "ok:x\nsecret"])
def test_a_line_that_is_something_else_is_not_quoted(tmp_path: Path, text: str) -> None:
    """It may be a password."""
    path = tmp_path / "users.txt"
    path.write_text(text)
    with pytest.raises(ConfigError, match="NAME:PASSWORD was expected") as caught:
        read_users(path)
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_users(tmp_path)


def test_plaintext_needs_nobody(tmp_path: Path) -> None:
    """Neither users nor certificates."""
    access = make_access(OPTIONS, tmp_path, SystemClock())
    assert (access.users, access.authority, access.client) == ({}, None, None)
    assert repr(access) == "<LabAccess of 0 users>"
    assert list(tmp_path.iterdir()) == []
