"""The catalog of errors: Kafka's own with advice, and those of librdkafka."""

from typing import Final

from kdiag.diagnosis.error_codes.cluster import CLUSTER
from kdiag.diagnosis.error_codes.groups import GROUPS
from kdiag.diagnosis.error_codes.known_error import ErrorAdvice, KnownError
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
"""The exceptions of Kafka's Java clients whose names do not follow from the error's."""


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
"""Every error that kdiag explains: Kafka's first, by code, then librdkafka's."""
