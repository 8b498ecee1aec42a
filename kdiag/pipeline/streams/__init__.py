"""Tables that grow with a folder of captures.

capture_log      the captures that were found complete, by whom, each content once
folder_source    the same as a source of Spark's streams
states           what a stream remembers between two batches, in its checkpoint
stream           the batches
status           how far a stream is
"""
