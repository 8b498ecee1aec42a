import socket
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from typing import Any

import msgspec
import pytest

from kdiag.clock import NS_PER_S, ManualClock
from kdiag.errors import ConfigError, ConnectError
from kdiag.lab.fault.control.control_port import MOST_BODY_BYTES, ControlPort
from kdiag.lab.fault.fault_book import FaultBook

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def control() -> Iterator[ControlPort]:
    """Return a control port."""
    with ControlPort(FaultBook(ManualClock())) as port:
        yield port


def bearing(token: str) -> dict[str, str]:
    """Return the header that brings a token."""
    return {"Authorization": f"Bearer {token}"}


def ask(
    control: ControlPort, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, Any]:
    """Return the status and the document of an answer."""
    connection = HTTPConnection("127.0.0.1", control.port, timeout=30)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body or None, JSON | bearing(control.token) | given)
    answer = connection.getresponse()
    document = msgspec.json.decode(answer.read())
    connection.close()
    return answer.status, document


def test_faults_are_added_listed_and_removed(control: ControlPort) -> None:
    """As texts and as mappings."""
    added = ask(control, "POST", "/faults", b'{"fault":"Fetch delay=1s"}')
    assert added == (
        201,
        {
            "schema": 1,
            "id": 1,
            "fault": "Fetch delay=1s",
            "seen": 0,
            "fired": 0,
            "in_situation": 0,
            "passed_over": 0,
        },
    )
    ask(control, "POST", "/faults", b'{"fault":{"api":"Produce","p":0.5,"close":"after"}}')
    status, document = ask(control, "GET", "/faults")
    assert (status, [each["fault"] for each in document["faults"]]) == (
        200,
        ["Fetch delay=1s", "Produce p=0.5 close=after"],
    )
    assert ask(control, "DELETE", "/faults/1")[1]["fault"] == "Fetch delay=1s"
    assert ask(control, "DELETE", "/faults") == (200, {"schema": 1, "removed": 1})


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "why"),
    [
        ("GET", "/", b"", {}, 404, "only /faults"),
        ("GET", "/faults/1", b"", {}, 404, "only /faults"),
        ("GET", "/faultsx", b"", {}, 404, "only /faults"),
        ("DELETE", "/faults/7", b"", {}, 404, "no fault 7"),
        ("DELETE", "/faults/x", b"", {}, 404, "no fault x"),
        ("POST", "/faults", b"{", {}, 400, "not JSON"),
        ("POST", "/faults", b"[1]", {}, 400, "expected"),
        ("POST", "/faults", b'{"fault":"Fetch dely=1s"}', {}, 400, "column 7"),
        ("POST", "/faults", b"{}", {"Content_Type": "text/plain"}, 415, "application/json"),
        ("POST", "/faults", b"", {"Content_Length": "x"}, 411, "Content-Length"),
        ("POST", "/faults", b"", {"Content_Length": str(MOST_BODY_BYTES + 1)}, 413, "at most"),
        ("GET", "/faults", b"", {"Host": "evil.example:80"}, 403, "not this machine"),
    ],
)
def test_what_is_wrong_is_said(  # noqa: PLR0913 - a request and its answer
    *,
    control: ControlPort,
    method: str,
    path: str,
    body: bytes,
    headers: dict[str, str],
    status: int,
    why: str,
) -> None:
    """With a status and an error; a page in a browser gets nowhere."""
    found, document = ask(control, method, path, body, **headers)
    assert found == status
    assert why in document["error"]
    assert ask(control, "GET", "/faults")[0] == 200


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer ", "bearer {}", "Bearer {}x", "{}", "\xe9"]
)
def test_without_its_token_it_obeys_nobody(control: ControlPort, method: str, given: str) -> None:
    """Other users of the machine reach the port as well as its owner."""
    body = b'{"fault":"any delay=1ms"}'
    authorization = given.format(control.token)
    status, document = ask(control, method, "/faults", body, Authorization=authorization)
    assert status == 401
    assert "Authorization: Bearer TOKEN" in document["error"]
    assert control.token not in document["error"]
    assert ask(control, "GET", "/faults")[1]["faults"] == []


def test_each_port_has_a_token_of_its_own(control: ControlPort) -> None:
    """Who may use one may not use another for that."""
    with ControlPort(FaultBook(ManualClock())) as other:
        foreign = bearing(other.token)["Authorization"]
        assert ask(control, "GET", "/faults", Authorization=foreign)[0] == 401
        assert ask(other, "GET", "/faults")[0] == 200


@pytest.mark.thorough
@pytest.mark.parametrize("sent", [b"", b"POST /faults HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-"])
def test_slow_clients_hold_up_no_others(control: ControlPort, sent: bytes) -> None:
    """Not even more of them than there are threads for: the oldest makes room."""
    with ExitStack() as slow:
        clients = [
            slow.enter_context(socket.create_connection(("127.0.0.1", control.port), 30))
            for _ in range(70)
        ]
        for client in clients:
            client.sendall(sent)
        assert ask(control, "GET", "/faults")[0] == 200
        assert clients[0].recv(1) == b""


def test_a_connection_ends_after_five_seconds(
    control: ControlPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its client sends a byte now and then; one that is younger goes on."""
    clock = ManualClock()
    monkeypatch.setattr(control._server, "clock", clock)
    place = ("127.0.0.1", control.port)
    with socket.create_connection(place, 30) as old, socket.create_connection(place, 30) as young:
        old.sendall(b"G")
        assert ask(control, "GET", "/faults")[0] == 200  # both are accepted
        control._server._opened_ns[[*control._server._opened_ns][1]] = 3 * NS_PER_S
        old.sendall(b"E")
        clock.advance(5 * NS_PER_S)
        assert old.recv(1) == b""
        young.sendall(b"GET /faults HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n")
        assert young.recv(12) == b"HTTP/1.1 401"


def test_a_port_in_use_is_said(control: ControlPort) -> None:
    """With what to do."""
    with pytest.raises(ConnectError, match="cannot listen") as caught:
        ControlPort(FaultBook(ManualClock()), control.port)
    assert "0 for one that is free" in caught.value.fix


class Nodes:
    """Brokers that are switched, or not.

    Attributes:
        switched: what was done.
    """

    def __init__(self) -> None:
        self.switched: list[tuple[int, str]] = []

    def listed(self) -> list[dict[str, Any]]:
        """Return one."""
        return [{"node_id": 2, "state": "running", "leads": 4}]

    def switch(self, node_id: int, action: str) -> dict[str, Any]:
        """Note what is done; two cannot be killed."""
        if action == "kill":
            raise ConfigError(str(node_id), "broker", "it does not run")
        self.switched.append((node_id, action))
        return {"node_id": node_id, "state": "stopped", "leads": 0}


def test_brokers_are_listed_and_switched() -> None:
    """Where there are any; what cannot be done is said."""
    nodes = Nodes()
    with ControlPort(FaultBook(ManualClock()), nodes=nodes) as control:
        status, document = ask(control, "GET", "/nodes")
        assert (status, document["nodes"][0]["node_id"]) == (200, 2)
        assert ask(control, "POST", "/nodes/2", b'{"do":"stop"}')[0] == 200
        assert nodes.switched == [(2, "stop")]
        for path, body, wanted in (
            ("/nodes/2", b'{"do":"kill"}', 409),
            ("/nodes/2", b'{"do":1}', 400),
            ("/nodes/x", b'{"do":"stop"}', 404),
        ):
            assert ask(control, "POST", path, body)[0] == wanted
        plain = {"Content_Type": "text/plain"}
        assert ask(control, "POST", "/nodes/2", b'{"do":"stop"}', **plain)[0] == 415
        assert "/faults and /nodes" in ask(control, "GET", "/")[1]["error"]
    assert nodes.switched == [(2, "stop")]


def test_there_are_no_brokers_before_a_cluster(control: ControlPort) -> None:
    """A proxy has faults only."""
    assert ask(control, "GET", "/nodes")[0] == 404
