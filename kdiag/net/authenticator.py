"""Authenticators: the two ends of a channel prove who they are, once the transport is ready.

`NoAuthenticator` is that of a listener without SASL; `kdiag.net.sasl` has the other.

Source: Kafka's `Authenticator`; KIP-368 (re-authentication).
"""

from typing import Protocol

from kdiag.net.receive import NetworkReceive
from kdiag.net.transport import Transport


class Authenticator(Protocol):
    """A conversation that must end well before a channel is ready."""

    def authenticate(self, transport: Transport) -> None:
        """Continue as far as the transport allows.

        Raises:
            AuthenticationError: if either end refuses the other.
            OSError: if the connection broke.
        """
        ...

    @property
    def is_complete(self) -> bool:
        """Return whether both ends are satisfied."""
        ...

    @property
    def receive(self) -> NetworkReceive | None:
        """Return the frame of the conversation that is being read."""
        ...

    @property
    def wants_write(self) -> bool:
        """Return whether it waits for the transport to accept bytes."""
        ...

    @property
    def reauthenticate_at_ns(self) -> int | None:
        """Return when a client must authenticate again, on the monotonic clock; None is never."""
        ...

    def reauthenticate(self, receive: NetworkReceive | None = None) -> None:
        """Start a re-authentication: `is_complete` is false until it has succeeded.

        Args:
            receive: what the channel has read so far. For a client a part of a frame, the
                response to an earlier request: the rest must be read and handed out by
                `poll_response`. For a server the whole request that starts it.
        """
        ...

    def poll_response(self) -> NetworkReceive | None:
        """Return, once, a response to an earlier request that came during a re-authentication."""
        ...

    def handle_authentication_failure(self, transport: Transport) -> None:
        """Report its failure to the peer, as far as the transport allows, before the close.

        A server does so some time after `authenticate` has raised, to slow down guessing.

        Raises:
            OSError: if the connection broke.
        """
        ...


class NoAuthenticator:
    """The authenticator of a listener without SASL: there is nothing to prove."""

    is_complete = True
    wants_write = False
    receive: NetworkReceive | None = None
    reauthenticate_at_ns: int | None = None

    def authenticate(self, transport: Transport) -> None:
        """Do nothing."""

    def reauthenticate(self, receive: NetworkReceive | None = None) -> None:
        """Do nothing."""

    def poll_response(self) -> NetworkReceive | None:
        """Return None: nothing comes in between."""
        return None

    def handle_authentication_failure(self, transport: Transport) -> None:
        """Do nothing."""
