"""What producers and consumers do with records.

    produce                   Produce
    fetch                     Fetch; fetch_session: what readers need not repeat in each
    list_offsets              ListOffsets: offsets by time
    offset_for_leader_epoch   OffsetForLeaderEpoch: where leader epochs end
    delete_records            DeleteRecords: where a log starts
    topic_partitions          the partitions of a request, by name or by id

Records stay bytes: a produce appends what came, a fetch sends parts of files.
"""
