"""A client of a control port: what `kdiag lab fault` and tests of other programs use.

control = ControlClient("127.0.0.1:8095", token)
fault = control.add("Fetch delay=1s")
control.listed()[0]["fired"]
control.remove(fault["id"])
"""

from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

import msgspec

from kdiag.errors import ConfigError, ConnectError, Layer
from kdiag.lab.fault.control.control_port import AUTHORIZATION, BEARER, FAULTS_PATH

_LONGEST_S: Final = 10.0
_MOST_BYTES: Final = 16 << 20
_FIX: Final = "Give the address that kdiag lab --control-port printed"


class TokenRefusedError(ConfigError):
    """The control port wants another token."""


class ControlClient:
    """Asks a control port; each time over a connection of its own.

    Attributes:
        address: `host:port`.
        port: of it.
        token: that of the control port.
    """

    def __init__(self, address: str, token: str = "") -> None:
        """Prepare to ask.

        Args:
            address: `host:port`; also with `http://` before it.
            token: that of the control port.

        Raises:
            ConfigError: if it is something else.
        """
        self.address = address.removeprefix("http://").rstrip("/")
        host, colon, port = self.address.rpartition(":")
        if not colon or not host or not (port.isascii() and port.isdigit() and len(port) < 6):  # noqa: PLR2004 - digits
            raise ConfigError("", "control port", f"{address!r} is not HOST:PORT")
        self._host, self.port = host.strip("[]"), int(port)
        self.token = token

    def __repr__(self) -> str:
        return f"<ControlClient of {self.address}>"

    def add(self, fault: str | dict[str, Any]) -> dict[str, Any]:
        """Add a fault, in the grammar or as a mapping, and return it with its id.

        Raises:
            ConfigError: if it is not a fault, or the token is refused, as in the other methods.
            ConnectError: if there is no control port.
        """
        return self._ask("POST", FAULTS_PATH, msgspec.json.encode({"fault": fault}))

    def listed(self) -> list[dict[str, Any]]:
        """Return the faults with their counters.

        Raises:
            ConnectError: if there is no control port.
        """
        faults: list[dict[str, Any]] = self._ask("GET", FAULTS_PATH)["faults"]
        return faults

    def remove(self, fault_id: int) -> dict[str, Any]:
        """Remove a fault, and return it as it ended.

        Raises:
            ConfigError: if there is none of this number.
            ConnectError: if there is no control port.
        """
        return self._ask("DELETE", f"{FAULTS_PATH}/{fault_id}")

    def clear(self) -> int:
        """Remove all faults, and return how many there were.

        Raises:
            ConnectError: if there is no control port.
        """
        count: int = self._ask("DELETE", FAULTS_PATH)["removed"]
        return count

    def _ask(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        connection = HTTPConnection(self._host, self.port, timeout=_LONGEST_S)
        headers = {AUTHORIZATION: f"{BEARER}{self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            data = response.read(_MOST_BYTES)
            document = msgspec.json.decode(data)
        except (OSError, HTTPException, msgspec.DecodeError, UnicodeDecodeError) as error:
            why = f"no control port answers: {error}"
            raise ConnectError(self.address, Layer.TCP, why, _FIX) from None
        finally:
            connection.close()
        if not isinstance(document, dict):
            raise ConnectError(self.address, Layer.TCP, "what answers is no control port", _FIX)
        if response.status == HTTPStatus.UNAUTHORIZED:
            raise TokenRefusedError("", self.address, str(document.get("error")))
        if "error" in document:
            raise ConfigError("", self.address, str(document["error"]))
        return document
