-- Which keys are hot, and who heats them?
--
-- One row for each key of a topic and flow, the one with the most bytes first: those of keys and
-- values, uncompressed, without headers. `flow` is as in the report throughput. `share_pct` is its
-- part of all bytes of the topic and flow.
-- A frequent key makes its partition hot (see the report hot), however many partitions there are.
-- Records without a key have one row, in which both `key` and `key_b64` are null; a key that is not
-- UTF-8 is in `key_b64`. `unread` batches of the topic and flow could not be read and do not count.
-- The client is the one with the most bytes.
--
-- Records are what users wrote: they are in tables only when asked for, by --values.
--
-- parameter topic (string) = %: only topics like this, in LIKE's notation.
-- parameter rows (bigint) = 50: so many.
-- parameter letters (bigint) = 100: so many of a key; keys that differ later are different ones.
-- wide: client_host, key_b64, partitions, unread, client_share_pct
WITH sized AS (
    SELECT
        batches.flow,
        records.topic,
        records.partition,
        records.client_host,
        records.client_id,
        records.key,
        records.key_b64,
        records.fault,
        octet_length(encode(coalesce(records.key, '')))
            + octet_length(encode(coalesce(records.value, '')))
            + length(rtrim(coalesce(records.key_b64, ''), '=')) * 3 // 4
            + length(rtrim(coalesce(records.value_b64, ''), '=')) * 3 // 4 AS size_bytes
    FROM records
    JOIN batches
        ON batches.connection_id = records.connection_id
        AND batches.time_ns = records.time_ns
        AND batches.correlation_id = records.correlation_id
        AND batches.batch_index = records.batch_index
    WHERE coalesce(records.topic, '') LIKE $topic
),
by_topic AS (
    SELECT
        flow,
        topic,
        CAST(sum(size_bytes) AS BIGINT) AS bytes,
        count(fault) AS unread
    FROM sized
    GROUP BY flow, topic
),
by_client AS (
    SELECT
        flow,
        topic,
        key,
        key_b64,
        client_host,
        client_id,
        CAST(sum(size_bytes) AS BIGINT) AS bytes,
        row_number() OVER (
            PARTITION BY flow, topic, key, key_b64
            ORDER BY sum(size_bytes) DESC, client_host, client_id NULLS FIRST
        ) AS place
    FROM sized
    WHERE fault IS NULL
    GROUP BY flow, topic, key, key_b64, client_host, client_id
),
by_key AS (
    SELECT
        flow,
        topic,
        key,
        key_b64,
        count(*) AS records,
        count(DISTINCT partition) AS partitions,
        CAST(sum(size_bytes) AS BIGINT) AS bytes,
        row_number() OVER (
            ORDER BY
                sum(size_bytes) DESC,
                flow,
                topic NULLS FIRST,
                key NULLS FIRST,
                key_b64 NULLS FIRST
        ) AS place
    FROM sized
    WHERE fault IS NULL
    GROUP BY flow, topic, key, key_b64
)
SELECT
    by_key.topic,
    left(by_key.key, $letters) AS key,
    left(by_key.key_b64, $letters) AS key_b64,
    by_key.flow,
    by_key.bytes,
    by_key.bytes * 100 // greatest(1, by_topic.bytes) AS share_pct,
    by_key.records,
    by_key.partitions,
    by_client.client_id,
    by_client.client_host,
    by_client.bytes * 100 // greatest(1, by_key.bytes) AS client_share_pct,
    by_topic.unread
FROM by_key
JOIN by_topic
    ON by_topic.flow = by_key.flow
    AND by_topic.topic IS NOT DISTINCT FROM by_key.topic
JOIN by_client
    ON by_client.flow = by_key.flow
    AND by_client.topic IS NOT DISTINCT FROM by_key.topic
    AND by_client.key IS NOT DISTINCT FROM by_key.key
    AND by_client.key_b64 IS NOT DISTINCT FROM by_key.key_b64
    AND by_client.place = 1
WHERE by_key.place <= $rows
ORDER BY by_key.place
