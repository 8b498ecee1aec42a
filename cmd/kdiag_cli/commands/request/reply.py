"""The reply of a broker to a request, for people and for programs."""

from typing import Any, NamedTuple

from kdiag.client.cluster_client import Answer
from kdiag.diagnosis.connection_finding import connection_finding
from kdiag.errors import ConnectError, KdiagError
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import Bodies
from kdiag.exchange.model import Exchange
from kdiag.findings.finding import Finding, found
from kdiag.wire.frame import LENGTH_BYTES, Frame
from kdiag.wire.schema import Struct
from kdiag_cli.output.result import milliseconds


class AskedNode(NamedTuple):
    """The node that was asked, and the API.

    Attributes:
        node_id: the broker; None for a bootstrap server that no broker advertises.
        address: its address; None if no node was asked.
        api: Kafka's name of the API.
    """

    node_id: int | None
    address: str | None
    api: str

    def __str__(self) -> str:
        number = "" if self.node_id is None else f"broker {self.node_id} "
        return f"{number}({self.address})" if number else str(self.address)


class Reply(NamedTuple):
    """The reply of one node.

    Attributes:
        asked: the node.
        version: of the request; None if there was none.
        rtt_ns: from the request's last byte to the response's first.
        body: the response in JSON; None without one.
        error: why there is no response; None if there is one, or none was due.
        error_name: Kafka's name of the first error in the response.
        warning: which part of the response could not be decoded.
        frame: the request as it was sent.
    """

    asked: AskedNode
    version: int | None = None
    rtt_ns: int | None = None
    body: dict[str, Any] | None = None
    error: KdiagError | None = None
    error_name: str | None = None
    warning: str | None = None
    frame: Frame | None = None

    @property
    def title(self) -> str:
        """Return the reply in one line."""
        version = "" if self.version is None else f" v{self.version}"
        rtt = "no response" if self.rtt_ns is None else f"{milliseconds(self.rtt_ns)} ms"
        error = f", {self.error_name}" if self.error_name else ""
        return f"{self.asked}: {self.asked.api}{version}, {rtt}{error}"

    @property
    def finding(self) -> Finding | None:
        """Return the finding about an error."""
        if isinstance(self.error, ConnectError):
            return connection_finding(self.error)
        if self.error_name is None:
            return None
        return found(
            "KD5003",
            address=str(self.asked),
            api=self.asked.api,
            version=self.version,
            error=self.error_name,
        )

    def document(self, *, with_bytes: bool) -> dict[str, Any]:
        """Return the reply in the shape that `--output json` promises."""
        document = {
            "node_id": self.asked.node_id,
            "address": self.asked.address,
            "api": self.asked.api,
            "version": self.version,
            "rtt_ms": milliseconds(self.rtt_ns),
            "response": self.body,
            "error": self.error_name or (str(self.error) if self.error else None),
        }
        if with_bytes:
            document["request_bytes"] = frame_hex(self.frame)
        return document


def reply_of(
    asked: AskedNode, answer: Answer[Struct], exchange: Exchange | None, bodies: Bodies
) -> Reply:
    """Return the reply for an answer.

    Args:
        asked: the node.
        answer: of the client.
        exchange: what crossed the wire, if anything did.
        bodies: makes the JSON.
    """
    if answer.error is not None or exchange is None:
        return Reply(asked, answer.version, error=answer.error)
    dissection = Dissection(exchange)
    body, why = None, None
    if dissection.response is not None:
        body, why = bodies.make(dissection, dissection.response, is_response=True)
    return Reply(
        asked=asked,
        version=answer.version,
        rtt_ns=answer.rtt_ns,
        body=body,
        error_name=dissection.error,
        warning=f"{asked}: {why.path}: {why.reason}" if why else None,
        frame=exchange.request,
    )


def frame_hex(frame: Frame | None) -> str | None:
    """Return a frame in hex with its length in front, as it crosses the wire."""
    if frame is None:
        return None
    return (frame.size.to_bytes(LENGTH_BYTES) + frame.data).hex()
