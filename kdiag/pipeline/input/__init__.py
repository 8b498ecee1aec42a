"""Captures as inputs of Spark.

Split              a part of a capture that can be read on its own      `split`
SegmentReader      the TCP segments of a split                          `segment_reader`
SegmentTimestamps  numbers and times of segments, looked up later       `segment_timestamps`
CaptureSource      the data source `kdiag`: segments as rows            `source`
FolderSource       the captures that appear in a folder, for streams    `folder_source`
"""
