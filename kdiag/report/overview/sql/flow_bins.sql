-- How much is written and read over time, by topic and by client?
--
-- Bytes are those of the batches, as compressed as they travel. `flow` is as in the report
-- throughput.
--
-- parameter start_ns (bigint) = 0: what bins count from.
-- parameter width_ns (bigint) = 1000000000: of a bin.
-- parameter most (bigint) = 8: how many topics and clients of a flow have a colour of their own.
WITH flows AS (
    SELECT
        flow,
        (time_ns - $start_ns) // $width_ns AS bin,
        coalesce(topic, '(unknown)') AS topic,
        coalesce(nullif(client_id, ''), client_host) AS client,
        size_bytes,
        record_count
    FROM batches
),
topics AS (
    SELECT flow, topic FROM flows GROUP BY flow, topic
    QUALIFY row_number() OVER (PARTITION BY flow ORDER BY sum(size_bytes) DESC, topic) <= $most
),
clients AS (
    SELECT flow, client FROM flows GROUP BY flow, client
    QUALIFY row_number() OVER (PARTITION BY flow ORDER BY sum(size_bytes) DESC, client) <= $most
),
named AS (
    SELECT
        flows.flow,
        flows.bin,
        coalesce(topics.topic, '(others)') AS topic,
        coalesce(clients.client, '(others)') AS client,
        flows.size_bytes,
        flows.record_count
    FROM flows
    LEFT JOIN topics USING (flow, topic)
    LEFT JOIN clients USING (flow, client)
)
SELECT
    flow,
    CASE WHEN grouping(topic) = 0 THEN 'topic' ELSE 'client' END AS dimension,
    coalesce(topic, client) AS name,
    bin,
    CAST(sum(size_bytes) AS BIGINT) AS bytes,
    CAST(coalesce(sum(record_count), 0) AS BIGINT) AS records
FROM named
GROUP BY GROUPING SETS ((flow, bin, topic), (flow, bin, client))
ORDER BY flow, dimension, name, bin
