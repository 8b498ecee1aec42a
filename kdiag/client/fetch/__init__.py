"""Reading partitions, as Kafka's consumers do without a group.

- `fetcher`: the **Fetcher** reads partitions from their leaders, one Fetch per broker at a time.
- `position`: a **FetchPosition** is how far a partition is read, a **FetchedBatch** was read there.
- `session`: what a broker remembers of the last Fetch, and the limits of one.
- `recovery`: finds leaders and offsets of partitions that cannot be read.
- `offsets`: looks offsets up.
- `soundness`: checks that the batches of an answer can be what is in the log.
- `doubts`: asks again for batches that cannot, and names those that stay so.
- `offset_reset`: `auto.offset.reset`, for offsets that are not in their logs.
- `repositioning`: moves positions that cannot be read where they are, by proofs alone.
- `progress`: reports partitions that make no progress.
- `notices`: reports what happens to partitions, one line for one event.
"""
