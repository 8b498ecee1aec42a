-- Who writes and reads which topics, how much, in what batches?
--
-- One row for each topic, client, codec and acks; `flow` is `produce`, `fetch` (consumers and share
-- consumers) or `replicate` (brokers that follow). What brokers refused to write has rows of its
-- own, with the flow `refused`, and so has what they did not answer, with the flow `unconfirmed`.
-- Bytes are those of the batches, as compressed as they travel. What is fetched twice counts twice.
-- Rates are over the time between the first and the last batch, and null where that is less than a
-- millisecond.
--
-- parameter topic (string) = %: only topics like this, in LIKE's notation.
-- wide: ms, largest_batch_bytes, records_per_batch, client_host, acks, partitions, records_per_s
-- wide: batches, bytes_per_batch, compression, bytes_per_s
WITH flows AS (
    SELECT
        flow,
        topic,
        partition,
        client_host,
        client_id,
        compression,
        acks,
        record_count,
        size_bytes,
        time_ns
    FROM batches
    WHERE coalesce(topic, '') LIKE $topic
),
summed AS (
    SELECT
        flow,
        topic,
        client_host,
        client_id,
        compression,
        acks,
        count(DISTINCT partition) AS partitions,
        count(*) AS batches,
        CAST(sum(record_count) AS BIGINT) AS records,
        CAST(sum(size_bytes) AS BIGINT) AS bytes,
        max(size_bytes) AS largest_batch_bytes,
        (max(time_ns) - min(time_ns)) // 1000000 AS ms
    FROM flows
    GROUP BY flow, topic, client_host, client_id, compression, acks
)
SELECT
    flow,
    topic,
    client_host,
    client_id,
    compression,
    acks,
    partitions,
    batches,
    records,
    bytes,
    bytes // batches AS bytes_per_batch,
    largest_batch_bytes,
    records // batches AS records_per_batch,
    ms,
    CASE WHEN ms > 0 THEN records * 1000 // ms END AS records_per_s,
    CASE WHEN ms > 0 THEN bytes * 1000 // ms END AS bytes_per_s
FROM summed
ORDER BY
    flow,
    bytes DESC,
    topic NULLS FIRST,
    client_host,
    client_id NULLS FIRST,
    compression,
    acks NULLS FIRST
