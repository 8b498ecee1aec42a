"""What the traffic in a capture shows of its clients and brokers, told once for each problem.

    Traffic      passes each exchange to those that look at it, and returns all findings  `traffic`
    Producing    batches, codecs, acks, hot partitions  `producing`
    Consuming    fetch sessions, commits  `consuming`
    Asking       metadata, quotas, requests given up, versions that Kafka 4 removed  `asking`
    Answering    brokers that answer late, whoever asks  `answering`
    Ledgers      what each counts, by who it is about, within bounds  `ledgers`

An exchange that is like an earlier one is counted without being decoded again: who looks at an
exchange returns a function that counts the next one like it (see `exchange/summary/fingerprint`).
"""
