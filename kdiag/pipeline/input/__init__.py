"""Captures as inputs of Spark.

Split              a part of a capture that can be read on its own      `split`
SplitIndex         the splits of a run, found by packet and by time     `split_index`
SegmentReader      the TCP segments of a split                          `segment_reader`
SegmentTimestamps  numbers and times of segments, looked up later       `segment_timestamps`
bundle_packets     tasks that read splits, and bundle their packets     `split_packets`
"""
