import pytest

from kdiag.clock import ManualClock
from kdiag.errors import ConfigError, ConnectError
from kdiag.lab.fault.control.control_client import ControlClient, TokenRefusedError
from kdiag.lab.fault.control.control_port import ControlPort
from kdiag.lab.fault.fault_book import FaultBook


def test_a_client_adds_lists_and_removes() -> None:
    """What the control port has then."""
    book = FaultBook(ManualClock())
    with ControlPort(book) as port:
        control = ControlClient(f"http://{port.address}/", port.token)
        added = control.add("Fetch delay=1s")
        control.add({"api": "Produce", "close": "after"})
        assert [each["id"] for each in control.listed()] == [added["id"], 2]
        assert control.remove(added["id"])["fault"] == "Fetch delay=1s"
        assert (control.clear(), len(book)) == (1, 0)


def test_what_the_port_refuses_is_a_wrong_setting() -> None:
    """In its own words."""
    with ControlPort(FaultBook(ManualClock())) as port:
        control = ControlClient(port.address, port.token)
        with pytest.raises(ConfigError, match="did you mean delay"):
            control.add("Fetch dely=1s")
        with pytest.raises(ConfigError, match="no fault 3"):
            control.remove(3)


def test_a_token_that_is_refused_is_an_error_of_its_own() -> None:
    """So that a program can say where the right one is."""
    with ControlPort(FaultBook(ManualClock())) as port:
        for token in ("", "x"):
            with pytest.raises(TokenRefusedError, match="wrong or missing"):
                ControlClient(port.address, token).listed()


def test_where_nobody_answers_is_said() -> None:
    """And what is no address, before anybody is asked."""
    with ControlPort(FaultBook(ManualClock())) as port:
        address = port.address
    with pytest.raises(ConnectError, match="no control port answers"):
        ControlClient(address).listed()
    for wrong in ("localhost", "host:x", ":1"):
        with pytest.raises(ConfigError, match="HOST:PORT"):
            ControlClient(wrong)
