-- Which partitions are hot, and who heats them?
--
-- One row for each partition and flow, the one with the most bytes first; `flow` is `produce`,
-- `fetch`, `replicate`, `refused` or `unconfirmed`, as in the report throughput. `share_pct` is its part of all bytes of the flow, and `times_mean` how
-- many times the mean of its topic's partitions it has: a topic that is spread well has 1 in each,
-- and one with a single partition nothing to spread. The client is the one with the most bytes.
--
-- parameter topic (string) = %: only topics like this, in LIKE's notation.
-- parameter rows (bigint) = 50: so many.
-- more: keys are what users wrote; kdiag report hot_keys --values tells which of them are hot
-- wide: client_host, batches, bytes_per_s, partitions, client_share_pct, records
WITH flows AS (
    SELECT
        flow,
        topic,
        partition,
        broker,
        client_host,
        client_id,
        record_count,
        size_bytes,
        time_ns
    FROM batches
    WHERE coalesce(topic, '') LIKE $topic
),
by_client AS (
    SELECT
        flow,
        topic,
        partition,
        client_host,
        client_id,
        CAST(sum(size_bytes) AS BIGINT) AS bytes,
        row_number() OVER (
            PARTITION BY flow, topic, partition
            ORDER BY sum(size_bytes) DESC, client_host, client_id NULLS FIRST
        ) AS place
    FROM flows
    GROUP BY flow, topic, partition, client_host, client_id
),
by_partition AS (
    SELECT
        flow,
        topic,
        partition,
        count(*) AS batches,
        CAST(sum(record_count) AS BIGINT) AS records,
        CAST(sum(size_bytes) AS BIGINT) AS bytes,
        (max(time_ns) - min(time_ns)) // 1000000 AS ms
    FROM flows
    GROUP BY flow, topic, partition
),
compared AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY flow, topic) AS partitions,
        CAST(sum(bytes) OVER (PARTITION BY flow, topic) AS BIGINT) AS topic_bytes,
        CAST(sum(bytes) OVER (PARTITION BY flow) AS BIGINT) AS flow_bytes,
        row_number() OVER (
            ORDER BY bytes DESC, flow, topic NULLS FIRST, partition NULLS FIRST
        ) AS place
    FROM by_partition
)
SELECT
    compared.topic,
    compared.partition,
    compared.flow,
    compared.bytes,
    compared.bytes * 100 // greatest(1, compared.flow_bytes) AS share_pct,
    CAST(compared.bytes * compared.partitions * 10 // greatest(1, compared.topic_bytes) AS DOUBLE)
        / 10 AS times_mean,
    compared.partitions,
    compared.batches,
    compared.records,
    CASE WHEN compared.ms > 0 THEN compared.bytes * 1000 // compared.ms END AS bytes_per_s,
    by_client.client_id,
    by_client.client_host,
    by_client.bytes * 100 // greatest(1, compared.bytes) AS client_share_pct
FROM compared
JOIN by_client
    ON by_client.flow = compared.flow
    AND by_client.topic IS NOT DISTINCT FROM compared.topic
    AND by_client.partition IS NOT DISTINCT FROM compared.partition
    AND by_client.place = 1
WHERE compared.place <= $rows
ORDER BY compared.place
