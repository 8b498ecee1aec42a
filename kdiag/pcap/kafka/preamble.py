"""What a proxy lets the client say before its own protocol begins.

    PROXY v1      client  PROXY TCP4 10.0.0.1 10.0.0.9 51000 9092 CR LF
    PROXY v2      client  12 bytes of signature, command, family, length, addresses
    SOCKS5        client  05 01 00              server  05 00
                  client  05 01 00 03 len host port     server  05 00 00 01 address port
    HTTP CONNECT  client  CONNECT host:port HTTP/1.1 ... CR LF CR LF    server  HTTP/1.1 200 ...

Behind it the bytes of both ends are as if there were no proxy.

Source: HAProxy's PROXY protocol, versions 1 and 2; RFC 1928 and 1929 (SOCKS5); RFC 9110 section
9.3.6 (CONNECT).
"""

import re
from ipaddress import ip_address
from typing import Final, NamedTuple

MAX_PREAMBLE_BYTES: Final = 4096

_V1: Final = b"PROXY "
# Patterns are compiled at their first use, by `re`: that takes 4 ms, and proxies are rare.
_V1_LINE: Final = rb"PROXY (?:UNKNOWN[^\r\n]*|TCP[46] (\S+) \S+ (\d+) \d+)\r\n"
_V1_BYTES: Final = 107
_V2: Final = b"\r\n\r\n\0\r\nQUIT\n"
_V2_HEAD_BYTES: Final = 16
_V2_ADDRESS_BYTES: Final = {0x11: 4, 0x21: 16}  # TCP over IPv4, TCP over IPv6
_CONNECT: Final = rb"CONNECT (\S{1,261}) HTTP/1\.[01]\r\n(?:[^\r\n]+\r\n)*\r\n"
_CONNECTED: Final = rb"HTTP/1\.[01] 2\d\d[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n"
_AUTHORIZATION: Final = (
    rb"(?i)\r\n(?:proxy-)?(?:authorization|authenticate|cookie)[ \t]*:[ \t]*([^\r\n]+)"
)
_SOCKS: Final = 5
_PASSWORD_METHOD: Final = 2
_SOCKS_ADDRESS_BYTES: Final = {1: 4, 4: 16}
_SOCKS_HOST: Final = 3


class Preamble(NamedTuple):
    """A preamble, and where the protocol behind it begins.

    Attributes:
        name: which one it is, and whom it names; empty while more bytes must tell.
        client_bytes, server_bytes: its size in either direction.
        secrets: where in the client's bytes a password is: start and end of each.
    """

    name: str
    client_bytes: int
    server_bytes: int
    secrets: tuple[tuple[int, int], ...] = ()


UNDECIDED: Final = Preamble("", 0, 0)


def read_preamble(client: bytes, server: bytes) -> Preamble | None:
    """Return the preamble that a connection starts with; None if it starts with none.

    Args:
        client: the first bytes of the end that has opened the connection.
        server: those of the other end.
    """
    if client.startswith((_V1, _V1[: len(client)])):
        return _read_v1(client)
    if client.startswith((_V2, _V2[: len(client)])):
        return _read_v2(client)
    if client.startswith(b"CONNECT "):
        return _read_connect(client, server)
    if client[:1] == b"\5":
        return _read_socks(client, server)
    return None


def _read_v1(client: bytes) -> Preamble | None:
    match = re.match(_V1_LINE, client)
    if match is None:
        return UNDECIDED if len(client) < _V1_BYTES and b"\n" not in client else None
    source = b":".join(match.groups()).decode(errors="replace") if match[1] else "unknown"
    return Preamble(f"PROXY v1 from {source}", match.end(), 0)


def _read_v2(client: bytes) -> Preamble | None:
    if len(client) < _V2_HEAD_BYTES:
        return UNDECIDED
    size = _V2_HEAD_BYTES + int.from_bytes(client[14:16])
    address_bytes = _V2_ADDRESS_BYTES.get(client[13], 0)
    if len(client) < min(size, _V2_HEAD_BYTES + 2 * address_bytes + 4):
        return UNDECIDED
    if not address_bytes or size < _V2_HEAD_BYTES + 2 * address_bytes + 4:
        return Preamble("PROXY v2", size, 0)
    address = ip_address(client[_V2_HEAD_BYTES : _V2_HEAD_BYTES + address_bytes])
    port_at = _V2_HEAD_BYTES + 2 * address_bytes
    port = int.from_bytes(client[port_at : port_at + 2])
    return Preamble(f"PROXY v2 from {address}:{port}", size, 0)


def _read_connect(client: bytes, server: bytes) -> Preamble | None:
    asked = re.match(_CONNECT, client)
    if asked is None:
        return None if b"\r\n\r\n" in client else UNDECIDED
    answered = re.match(_CONNECTED, server)
    if answered is None:
        return None if b"\r\n\r\n" in server else UNDECIDED
    name = asked[1].decode(errors="replace")
    secrets = tuple(each.span(1) for each in re.finditer(_AUTHORIZATION, asked[0]))
    return Preamble(f"HTTP CONNECT to {name}", asked.end(), answered.end(), secrets)


def _read_socks(client: bytes, server: bytes) -> Preamble | None:
    """Return the preamble of SOCKS5: greeting, perhaps a password, and the address to go to."""
    if len(client) > 1 and not 0 < client[1] < _V2_HEAD_BYTES:
        return None
    if len(client) < 2 or len(client) < 2 + client[1] or len(server) < 2:  # noqa: PLR2004 - heads
        return UNDECIDED if not server or server[0] == _SOCKS else None
    asked, answered = 2 + client[1], 2
    secrets: tuple[tuple[int, int], ...] = ()
    if server[0] != _SOCKS:
        return None
    if server[1] == _PASSWORD_METHOD:
        name = client[asked + 1] if len(client) > asked + 1 else 0
        word_at = asked + 2 + name
        asked = word_at + 1 + (client[word_at] if len(client) > word_at else 0)
        secrets = ((word_at + 1, asked),)
        answered += 2
    target = _socks_address(client, asked)
    bound = _socks_address(server, answered)
    if target is None or bound is None:
        return UNDECIDED
    return Preamble(f"SOCKS5 to {target[0]}", target[1], bound[1], secrets)


def _socks_address(data: bytes, at: int) -> tuple[str, int] | None:
    """Return the address in a SOCKS5 message, and where that ends; None if it is not here yet."""
    kind = data[at + 3] if len(data) > at + 4 else 0
    start = at + 4 + (kind == _SOCKS_HOST)
    size = data[at + 4] if kind == _SOCKS_HOST else _SOCKS_ADDRESS_BYTES.get(kind, 0)
    end = start + size + 2
    if not size or len(data) < end:
        return None
    host = data[start : start + size]
    text = host.decode(errors="replace") if kind == _SOCKS_HOST else str(ip_address(host))
    return f"{text}:{int.from_bytes(data[end - 2 : end])}", end
