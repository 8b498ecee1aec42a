"""Bootstrap servers: reads the brokers that a client asks first.

Source: Kafka's `ClientUtils.parseAndValidateAddresses`, `Utils.HOST_PORT_PATTERN`; librdkafka's
`rd_kafka_brokers_add`.
"""

import re
from typing import Final, NamedTuple

from kdiag.net.address import host_and_port

DEFAULT_PORT: Final = 9092

_MAX_PORT: Final = 65535
_SERVER: Final = re.compile(
    r"(?:(?P<protocol>[A-Za-z][A-Za-z0-9+._-]*)://)?"
    r"(?:\[(?P<bracketed>[0-9A-Fa-f:.]+(?:%[0-9A-Za-z._-]+)?)\]|(?P<name>[^\s\[\]/:@]+))"
    r"(?::(?P<port>[0-9]{1,5}))?/?"
)
_BARE_IPV6: Final = re.compile(r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[0-9A-Za-z._-]+)?")


class BootstrapServer(NamedTuple):
    """A broker that a client asks first.

    Attributes:
        host: a name or an address, an IPv6 one without brackets.
        port: from 1 to 65535.
    """

    host: str
    port: int = DEFAULT_PORT

    def __str__(self) -> str:
        return host_and_port(self.host, self.port)


def parse_bootstrap_server(text: str, security_protocol: str) -> BootstrapServer:
    """Return the server of a text such as `kafka1:9093`, `[::1]:9092` or `kafka1`.

    Args:
        text: may have the security protocol in front, as in `SSL://kafka1:9093`.
        security_protocol: the one in force.

    Raises:
        ValueError: if the text is not a server, or names another protocol.
    """
    if _BARE_IPV6.fullmatch(text):
        return BootstrapServer(text)
    match = _SERVER.fullmatch(text)
    if match is None:
        raise ValueError(f"expected host:port, found {text!r}")
    protocol = match["protocol"]
    if protocol is not None and protocol.upper() != security_protocol:
        raise ValueError(f"{text!r} contradicts security.protocol={security_protocol}")
    port = int(match["port"] or DEFAULT_PORT)
    if not 1 <= port <= _MAX_PORT:
        raise ValueError(f"expected a port from 1 to {_MAX_PORT}, found {port} in {text!r}")
    return BootstrapServer(match["bracketed"] or match["name"], port)
