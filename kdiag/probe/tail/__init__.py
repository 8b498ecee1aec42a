"""Reads topics as `kdiag tail` does: from where the user says, to where the user says.

TopicSelector    the partitions that a name or a pattern selects     `topic_selection`
OffsetSpec       where to start and to stop, as written              `offset_spec`
StartAndStop     the same as offsets of a partition                  `offsets`
Tail             reads on, and finds new topics and leaders          `follower`
LastRecords      the last N records over all partitions              `last_records`
RecordRun        consecutive records with the same origin            `record_runs`
Columns          keys, values, timestamps ... of a run               `record_columns`
"""
