"""What coordinators keep of groups as a source of rebalances: no cause is there, only what changed.

classic_records      records of `__consumer_offsets` about classic groups
epoch_records        those about consumer, share and streams groups
described_records    descriptions of groups, look after look, as the records of what changed
record_words         what is said of what records, or descriptions, do not tell

Two states of a group beside each other tell who came, who is gone, who wants something else, and
what moved. Whether who is gone left or failed they do not tell.
"""
