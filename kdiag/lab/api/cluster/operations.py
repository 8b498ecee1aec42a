"""What a client may do with a topic, a group or the cluster, where it asks for that.

A lab has no authorizer, so everybody may do what there is to do. The answer is a set of bits: bit 3
is READ, bit 4 is WRITE, and so on.

    a topic     READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS
    a group     READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS

Source: KIP-430; Kafka's `AclOperation`, `AclEntry.supportedOperations`.
"""

from enum import IntEnum
from typing import Final


class AclOperation(IntEnum):
    """The operations, by their numbers."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


_CONFIGS: Final = {AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}


def _bits(operations: set[AclOperation]) -> int:
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS: Final = _bits(
    {
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        *_CONFIGS,
    }
)
GROUP_OPERATIONS: Final = _bits(
    {AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE, *_CONFIGS}
)
CLUSTER_OPERATIONS: Final = _bits(
    {
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.IDEMPOTENT_WRITE,
        *_CONFIGS,
    }
)
