"""Tables that grow with a folder of captures.

capture_log      the captures that were found complete, by whom, each content once
folder_source    the same as a source of Spark's streams
states           what a stream remembers between two batches, in its checkpoint
stream           the batches
group_state      what is kept of groups, whose rows may change with each batch
group_tables     their tables, which each batch replaces
status           how far a stream is
"""
