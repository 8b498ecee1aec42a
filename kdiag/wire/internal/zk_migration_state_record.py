"""The state of the migration from ZooKeeper.

Record type 21 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int8, Struct, message


@message(versions="0", flexible="0+")
class ZkMigrationStateRecord(Struct):
    """Kafka's ZkMigrationStateRecord."""

    zk_migration_state: Int8 = 0
