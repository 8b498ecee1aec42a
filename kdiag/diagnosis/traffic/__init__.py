"""What the traffic in a capture shows of its clients and brokers, told once for each problem.

    Traffic      passes each exchange to those that look at it, and returns all findings  `traffic`
    Producing    batches, codecs, acks, hot partitions  `producing`
    Consuming    fetch sessions, commits  `consuming`
    Asking       metadata, quotas, requests given up, versions that Kafka 4 removed  `asking`
    Answering    brokers that answer late, whoever asks  `answering`
    Refusing     error codes of answers: who cannot do what, since when  `refusing`
    Changes      what administrators changed just before  `changes`
    Silence      brokers that answered no client for a while  `silence`
    Replicating  writes with acks=all that wait for followers  `replicating`
    Controllers  clients that were given a controller's port  `controllers`
    Ledgers      what each counts, by who it is about, within bounds  `ledgers`

Exchanges that are like an earlier one are counted without being decoded again, many of a connection
at once: who looks at an exchange returns who counts those (see `exchange/summary/counts`).
"""
