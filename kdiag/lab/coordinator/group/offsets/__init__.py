"""How far groups have read: offsets, with those of open transactions apart.

    committed_offset    CommittedOffset: an offset with what was said of it, as a record and back
    offset_store        OffsetStore: those of all groups of a partition; pending ones by producer

Source: Kafka's `OffsetMetadataManager`, `OffsetAndMetadata`.
"""
