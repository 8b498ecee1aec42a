"""What the program tells its caller when it ends."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes; of several, the lowest of 3 to 7 wins over 8, and 8 over 1."""

    DONE = 0
    FINDINGS = 1
    USAGE = 2
    CANNOT_CONNECT = 3
    NOT_AUTHENTICATED = 4
    NOT_AUTHORIZED = 5
    TIMEOUT = 6
    UNSUPPORTED = 7
    PARTIAL = 8
    INTERRUPTED = 130
