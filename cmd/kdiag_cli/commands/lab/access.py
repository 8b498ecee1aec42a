"""Who may use a lab, and how: listeners, users, certificates, and the settings for clients.

    FOLDER/client.properties              of the first listener, in the keys of Kafka's Java clients
    FOLDER/client.SASL_SSL.properties     of each other one
    FOLDER/ca.pem, client.pem, broker.pem for TLS, made each time

Passwords come from a file or from a variable, `NAME:PASSWORD` a line; without any there is one user
with a password that nobody knows before. What holds a secret can be read by its owner alone.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.clock import Clock
from kdiag.errors import ConfigError
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.security.listener import ListenerSettings
from kdiag.lab.security.private_file import write_private
from kdiag.lab.security.users import OAUTHBEARER, PLAIN
from kdiag.net.tls.context import TlsSettings
from kdiag_cli.commands.lab.options import LabOptions

USERS_VARIABLE: Final = "KDIAG_LAB_USERS"
USER: Final = "lab"

_PASSWORD_BYTES: Final = 12
_LOGIN_MODULES: Final = {
    PLAIN: "plain.PlainLoginModule",
    OAUTHBEARER: "oauthbearer.OAuthBearerLoginModule",
}
_SCRAM_MODULE: Final = "scram.ScramLoginModule"
_FIRST_PRINTABLE: Final = 0x20
_DELETE: Final = 0x7F


class LabAccess(NamedTuple):
    """Who may use a lab.

    Attributes:
        listeners: what its brokers speak.
        users: passwords by name.
        folder: has what clients need.
        authority: whom they trust, a file; None without TLS.
        client: key and certificate of a client, a file; None where none is asked for.
    """

    listeners: tuple[ListenerSettings, ...]
    users: Mapping[str, str]
    folder: Path
    authority: Path | None = None
    client: Path | None = None

    def __repr__(self) -> str:
        return f"<LabAccess of {len(self.users)} users>"


def make_access(options: LabOptions, folder: Path, clock: Clock) -> LabAccess:
    """Return who may use a lab, and make the certificates that this needs.

    Args:
        options: what is asked for.
        folder: for what clients need; it is there.
        clock: of certificates.

    Raises:
        ConfigError: if users cannot be read, or files cannot be written.
    """
    plain = tuple(
        ListenerSettings(each.protocol, each.port, mechanisms=options.mechanisms)
        for each in options.listeners
    )
    users = read_users(options.users_file) if any(each.has_sasl for each in plain) else {}
    if not any(each.has_tls for each in plain):
        return LabAccess(plain, users, folder)
    from kdiag.lab.security.certificates import make_certificates  # noqa: PLC0415 - cryptography: 20 ms

    hosts = dict.fromkeys((options.host, "localhost", "127.0.0.1", "::1"))
    files = make_certificates(folder, [*hosts], clock)
    tls = TlsSettings(
        truststore_location=str(files.authority),
        keystore_location=str(files.broker),
        client_auth=options.client_auth,
    )
    listeners = tuple(each._replace(tls=tls) if each.has_tls else each for each in plain)
    client = None if options.client_auth == "none" else files.client
    return LabAccess(listeners, users, folder, files.authority, client)


def read_users(file: Path | None) -> dict[str, str]:
    """Return passwords by name: of a file, or of the variable, or of one user.

    Raises:
        ConfigError: if the file cannot be read, or a line is something else; no line is quoted.
    """
    if file is not None:
        try:
            text, origin = file.read_text(encoding="utf-8"), str(file)
        except (OSError, ValueError) as error:
            raise ConfigError("users", str(file), f"cannot be read: {error}") from None
    else:
        text, origin = os.environ.get(USERS_VARIABLE, ""), USERS_VARIABLE
    users = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, password = line.partition(":")
        if not colon or not name:
            raise ConfigError("users", origin, f"line {number}: NAME:PASSWORD was expected")
        users[name] = password
    return users or {USER: secrets.token_urlsafe(_PASSWORD_BYTES)}


def write_client_files(lab: LabCluster, access: LabAccess) -> list[Path]:
    """Write the settings for clients of each listener, and return the files.

    Raises:
        ConfigError: if they cannot be written.
    """
    files = []
    for at, listener in enumerate(access.listeners):
        name = f"client.{listener.protocol}.properties" if at else "client.properties"
        settings = _client_settings(lab, listener, access)
        lines = (f"{key}={_escaped(value)}\n" for key, value in settings.items())
        files.append(access.folder / name)
        write_private(files[-1], "".join(lines).encode("ascii"))
    return files


def _client_settings(
    lab: LabCluster, listener: ListenerSettings, access: LabAccess
) -> dict[str, str]:
    settings = {
        "bootstrap.servers": lab.bootstrap_of(listener.protocol),
        "security.protocol": listener.protocol,
    }
    if listener.has_sasl:
        settings |= _login(listener.mechanisms[0], access.users)
    if listener.has_tls:
        settings["ssl.truststore.type"] = "PEM"
        settings["ssl.truststore.location"] = str(access.authority)
        if access.client is not None:
            settings["ssl.keystore.type"] = "PEM"
            settings["ssl.keystore.location"] = str(access.client)
    return settings


def _login(mechanism: str, users: Mapping[str, str]) -> dict[str, str]:
    """Return how the first of the users logs in."""
    name, password = next(iter(users.items()))
    options = f'username="{_quoted(name)}" password="{_quoted(password)}"'
    if mechanism == OAUTHBEARER:
        options = f'unsecuredLoginStringClaim_sub="{_quoted(name)}"'
    module = _LOGIN_MODULES.get(mechanism, _SCRAM_MODULE)
    login = f"org.apache.kafka.common.security.{module} required {options};"
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": login}


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _escaped(value: str) -> str:
    """Return a value as `java.util.Properties` reads it: ASCII alone, backslashes doubled."""
    units = value.replace("\\", "\\\\").encode("utf-16-be", "replace")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(
        chr(code) if _FIRST_PRINTABLE <= code < _DELETE else f"\\u{code:04x}" for code in codes
    )
