"""The producers that wrote to a partition: a broker's .snapshot file.

Version 1, never flexible.
"""

from kdiag.wire.schema import Int16, Int32, Int64, Struct, Uint32, message


class ProducerEntry(Struct):
    """One element of `producer_entries` in ProducerSnapshot."""

    producer_id: Int64 = 0
    epoch: Int16 = 0
    last_sequence: Int32 = 0
    last_offset: Int64 = 0
    offset_delta: Int32 = 0
    timestamp: Int64 = 0
    coordinator_epoch: Int32 = 0
    current_txn_first_offset: Int64 = 0


@message(versions="1")
class ProducerSnapshot(Struct):
    """Kafka's ProducerSnapshot."""

    crc: Uint32 = 0
    producer_entries: list[ProducerEntry] = []
