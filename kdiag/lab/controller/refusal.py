"""What a request asks for and cannot have: the error code, and why.

    raise RequestRefusedError("TOPIC_ALREADY_EXISTS", "there is a topic 'orders' already")

A handler turns it into the error code and the message of its response, in the place where the
response has one: of a topic, a partition, or the whole. Nothing has been changed when it is raised.
The other refusals are those of a log (`kdiag.lab.log.refusal`).

Source: Kafka's `ApiError`, `Errors`.
"""

from kdiag.errors import KdiagError
from kdiag.wire.error_code import CODE_BY_NAME


class RequestRefusedError(KdiagError):
    """A request, or a part of it, is refused; nothing has been changed.

    Attributes:
        error: the name of Kafka's error code, such as `TOPIC_ALREADY_EXISTS`.
        why: the expected value and the actual one.
    """

    def __init__(self, error: str, why: str) -> None:
        super().__init__(error, why)
        self.error = error
        self.why = why

    def __str__(self) -> str:
        return f"{self.error}: {self.why}"

    @property
    def code(self) -> int:
        """Return the number of the error code."""
        return CODE_BY_NAME[self.error]


def check_named_once(*, is_twice: bool) -> None:
    """Refuse a topic that stands twice in a request: nobody knows which of the two is meant.

    Raises:
        RequestRefusedError: INVALID_REQUEST.
    """
    if is_twice:
        raise RequestRefusedError("INVALID_REQUEST", "the topic stands twice in the request")
