import errno
import os

from kdiag.client.network.failure import (
    ConnectionStage,
    asked_in_tls,
    failure,
    most_telling,
    no_metadata,
    silence,
)
from kdiag.errors import (
    AuthenticationError,
    ConnectError,
    DisconnectedError,
    Fault,
    Layer,
    UnsupportedVersionError,
)
from kdiag.net.tls.failure import HandshakeBrokenError
from kdiag.net.transport import EndOfStreamError
from tiers.cases import for_each

WHERE = "kafka.example:9092"
CLOSED = EndOfStreamError("closed")


@for_each(
    ("number", "why", "fix"),
    [
        (errno.ECONNREFUSED, "nothing listens on this port", "Start the broker"),
        (errno.ETIMEDOUT, "packets are dropped", "firewall"),
        (errno.EHOSTUNREACH, "no route to the host", "VPN"),
        (errno.ENETUNREACH, "no route to the host", "VPN"),
        (errno.ECONNRESET, "reset while it was being made", "load balancer"),
        (errno.EADDRNOTAVAIL, "cannot connect to such an address", "local ports"),
        (errno.EACCES, "forbids", "firewall of this machine"),
    ],
    ids=lambda value: errno.errorcode.get(value) if isinstance(value, int) else value[:9],
)
def test_what_the_operating_system_says_is_put_into_words(number: int, why: str, fix: str) -> None:
    """All of it is TCP's, and each has its own remedy."""
    error = failure(WHERE, ConnectionStage.TCP, OSError(number, os.strerror(number)))

    assert (error.address, error.layer) == (WHERE, Layer.TCP)
    assert why in error.why
    assert fix in error.fix


def test_an_unknown_reason_is_passed_on() -> None:
    """Without a remedy."""
    error = failure(WHERE, ConnectionStage.TCP, OSError(errno.ENOBUFS, "no buffers"))

    assert error.why == "could not connect: [Errno 105] no buffers"
    assert error.fix == ""


def test_what_others_have_found_out_is_passed_on() -> None:
    """A certificate, a password, a web server, a handshake that broke off."""
    found = AuthenticationError(WHERE, Layer.TLS, "expired")
    told = ConnectError(WHERE, Layer.TLS, "it hung up as a listener without TLS does")

    assert failure(WHERE, ConnectionStage.TLS, found) is found
    assert failure(WHERE, ConnectionStage.TLS, HandshakeBrokenError(told)) is told


@for_each(
    ("stage", "layer", "fix"),
    [
        (ConnectionStage.TLS, Layer.TLS, "PLAINTEXT"),
        (ConnectionStage.SASL, Layer.SASL, "has no SASL"),
        (ConnectionStage.API_VERSIONS, Layer.KAFKA, "TLS listener, use security.protocol SSL"),
        (ConnectionStage.FIRST_REQUEST, Layer.KAFKA, "asks for SASL"),
        (ConnectionStage.READY, Layer.KAFKA, "broker's log"),
    ],
)
def test_a_connection_that_is_closed_early_is_of_the_wrong_kind(
    stage: ConnectionStage, layer: Layer, fix: str
) -> None:
    """How early tells which security.protocol may be meant."""
    error = failure(WHERE, stage, CLOSED)

    assert error.layer is layer
    assert error.why == f"the other end accepted, then closed the connection during {stage.value}"
    assert fix in error.fix


def test_whoever_hangs_up_does_not_say_that_it_wants_tls() -> None:
    """Only an answer to a ClientHello does, and over TLS the question makes no sense."""
    login = AuthenticationError(WHERE, Layer.KAFKA, "closed", "Check", Fault.HUNG_UP)
    for stage, cause in ((ConnectionStage.API_VERSIONS, CLOSED), (ConnectionStage.SASL, login)):
        assert failure(WHERE, stage, cause).fault is Fault.HUNG_UP
        encrypted = failure(WHERE, stage, cause, has_tls=True)
        assert (encrypted.layer, encrypted.fault) == (Layer.KAFKA, Fault.CLOSED)


def test_a_port_that_hung_up_was_asked_in_tls() -> None:
    """What it said to that counts."""
    hung_up = failure(WHERE, ConnectionStage.API_VERSIONS, CLOSED)
    yes, no = (asked_in_tls(hung_up, speaks_tls=each) for each in (True, False))
    assert (yes.layer, yes.fault) == (Layer.TLS, Fault.WANTS_TLS)
    assert yes.why == "the port speaks TLS: it hung up on plaintext, and answered a TLS handshake"
    assert (no.layer, no.fault) == (Layer.KAFKA, Fault.HUNG_UP)
    assert no.why == f"{hung_up.why}; it does not answer a TLS handshake either"


def test_how_a_connection_ended_is_told() -> None:
    """Closed, reset, idle, or whatever the system says."""
    whys = [
        failure(WHERE, ConnectionStage.READY, error).why
        for error in (ConnectionResetError(), BrokenPipeError(), None, OSError(5, "I/O error"))
    ]

    assert "then reset the connection" in whys[0]
    assert "then reset the connection" in whys[1]
    assert whys[2] == "the connection was closed, being idle"
    assert "then broke ([Errno 5] I/O error)" in whys[3]


@for_each("stage", ConnectionStage)
def test_silence_tells_what_was_not_answered(stage: ConnectionStage) -> None:
    """And for how long."""
    error = silence(WHERE, stage, 2_500_000_000)

    assert "within 2.5 s" in error.why
    assert error.fix
    if stage is ConnectionStage.TCP:
        assert "packets are dropped" in error.why
        assert error.layer is Layer.TCP
    else:
        assert f"accepts connections, but did not answer {stage.value}" in error.why


def test_the_most_telling_error_came_furthest() -> None:
    """A wrong password says more than silence, and that more than a name without address."""
    errors = [
        ConnectError(WHERE, layer, "x")
        for layer in (Layer.DNS, Layer.TCP, Layer.KAFKA, Layer.TLS, Layer.SASL)
    ]

    for count in range(1, 6):
        assert most_telling(errors[:count]) is errors[count - 1]
        assert most_telling(errors[count - 1 :: -1]) is errors[count - 1]


def test_metadata_that_nobody_gives_has_three_reasons() -> None:
    """Silence, a controller that does not know the question, or an end."""
    silent = no_metadata(WHERE, None)
    controller = no_metadata(WHERE, UnsupportedVersionError("not offered"))
    ended = no_metadata(WHERE, DisconnectedError("gone"))

    faults = [each.fault for each in (silent, controller, ended)]
    assert faults == [Fault.SILENT, Fault.CONTROLLER, Fault.CLOSED]
    assert "did not answer Metadata in time" in silent.why
    assert controller.why == "this is a controller's listener, as it seems: not offered"
    assert ended.why == "gone"


def test_a_refused_connection_tells_more_than_dropped_packets() -> None:
    """Somebody has answered at least; among equals the first counts."""
    dropped = silence(WHERE, ConnectionStage.TCP, 1)
    refused = failure(WHERE, ConnectionStage.TCP, OSError(errno.ECONNREFUSED, ""))

    assert most_telling([dropped, refused]) is refused
    assert most_telling([refused, dropped]) is refused
    assert most_telling([dropped, silence("other", ConnectionStage.TCP, 1)]) is dropped
