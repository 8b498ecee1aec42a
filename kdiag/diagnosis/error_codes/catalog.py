"""All errors with advice, Kafka's own and those of clients."""

from typing import Final

import msgspec

from kdiag.diagnosis.error_codes.advice import ErrorAdvice
from kdiag.diagnosis.error_codes.cluster import CLUSTER
from kdiag.diagnosis.error_codes.groups import GROUPS
from kdiag.diagnosis.error_codes.librdkafka import LIBRDKAFKA
from kdiag.diagnosis.error_codes.quorum import QUORUM
from kdiag.diagnosis.error_codes.records import RECORDS
from kdiag.diagnosis.error_codes.security import SECURITY
from kdiag.diagnosis.error_codes.transactions import TRANSACTIONS
from kdiag.wire.error_code import ERROR_BY_CODE

ADVICE: Final[dict[str, ErrorAdvice]] = {
    **CLUSTER,
    **RECORDS,
    **GROUPS,
    **TRANSACTIONS,
    **SECURITY,
    **QUORUM,
}
"""The advice on each of Kafka's errors, by its name."""

_IRREGULAR_EXCEPTIONS: Final = {
    "UNKNOWN_SERVER_ERROR": "UnknownServerException",
    "CORRUPT_MESSAGE": "CorruptRecordException",
    "REQUEST_TIMED_OUT": "TimeoutException",
    "MESSAGE_TOO_LARGE": "RecordTooLargeException",
    "STALE_CONTROLLER_EPOCH": "ControllerMovedException",
    "OFFSET_METADATA_TOO_LARGE": "OffsetMetadataTooLarge",
    "NETWORK_EXCEPTION": "NetworkException",
    "INVALID_TOPIC_EXCEPTION": "InvalidTopicException",
    "RECORD_LIST_TOO_LARGE": "RecordBatchTooLargeException",
    "TOPIC_AUTHORIZATION_FAILED": "TopicAuthorizationException",
    "GROUP_AUTHORIZATION_FAILED": "GroupAuthorizationException",
    "CLUSTER_AUTHORIZATION_FAILED": "ClusterAuthorizationException",
    "TOPIC_ALREADY_EXISTS": "TopicExistsException",
    "INVALID_CONFIG": "InvalidConfigurationException",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "OutOfOrderSequenceException",
    "DUPLICATE_SEQUENCE_NUMBER": "DuplicateSequenceException",
    "INVALID_PRODUCER_ID_MAPPING": "InvalidPidMappingException",
    "INVALID_TRANSACTION_TIMEOUT": "InvalidTxnTimeoutException",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "TransactionalIdAuthorizationException",
    "KAFKA_STORAGE_ERROR": "KafkaStorageException",
    "SASL_AUTHENTICATION_FAILED": "SaslAuthenticationException",
    "DELEGATION_TOKEN_AUTH_DISABLED": "DelegationTokenDisabledException",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": "UnsupportedByAuthenticationException",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": "DelegationTokenAuthorizationException",
    "NON_EMPTY_GROUP": "GroupNotEmptyException",
    "PRINCIPAL_DESERIALIZATION_FAILURE": "PrincipalDeserializationException",
    "FETCH_SESSION_TOPIC_ID_ERROR": "FetchSessionTopicIdException",
    "INVALID_REGULAR_EXPRESSION": "InvalidRegularExpression",
}
"""Where the class that Kafka's Java clients throw is not named as the error is."""


class KnownError(msgspec.Struct, frozen=True):
    """Everything that is known about an error.

    Attributes:
        code: the number on the wire; of librdkafka's own, below -100, the one its users see.
        name: such as `NOT_COORDINATOR`, or `_TRANSPORT` for one of librdkafka's own.
        source: `kafka`, or `librdkafka` for what that library makes up.
        java_exception: the class that Kafka's Java clients throw; None where there is none.
        is_retriable: whether the same request may be sent again; None where that is no question.
        meaning: one sentence.
        causes, fix, apis: as of `ErrorAdvice`.
    """

    code: int
    name: str
    source: str
    java_exception: str | None
    is_retriable: bool | None
    meaning: str
    causes: tuple[str, ...]
    fix: str
    apis: tuple[str, ...]


def _java_exception(name: str) -> str | None:
    if name == "NONE":
        return None
    regular = "".join(word.capitalize() for word in name.split("_")) + "Exception"
    return _IRREGULAR_EXCEPTIONS.get(name, regular)


KNOWN_ERRORS: Final = (
    *(
        KnownError(
            error.code,
            error.name,
            "kafka",
            _java_exception(error.name),
            error.is_retriable,
            error.meaning,
            *ADVICE[error.name],
        )
        for error in ERROR_BY_CODE.values()
    ),
    *(
        KnownError(code, name, "librdkafka", None, None, meaning, (), fix, ())
        for code, name, meaning, fix in LIBRDKAFKA
    ),
)
"""Every error that kdiag can explain, Kafka's first, by code."""
