"""The sender of a request that a broker forwards in an Envelope.

Version 0, flexible from 0.
"""

from kdiag.wire.schema import Boolean, String, Struct, message


@message(versions="0", flexible="0+")
class DefaultPrincipalData(Struct):
    """Kafka's DefaultPrincipalData."""

    type: String = ""
    name: String = ""
    token_authenticated: Boolean = False
