-- Who asks for metadata, how often, and for all topics of the cluster?
--
-- One row for each client, the one that was sent the most bytes first. Clients ask when they
-- start, every five minutes, and when a broker tells that something moved. One that asks many
-- times in a second (`busiest_second`) is in a storm: it meets a topic that does not exist, a
-- broker that it cannot reach, or its code makes a new client for each record. Answers about all
-- topics are large in a large cluster. `per_minute` is null where the first and the last are less
-- than a second apart.
--
-- parameter client (string) = %: only client ids like this, in LIKE's notation.
-- wide: client_host, last_seen, first_seen, topics, largest_bytes, errors
WITH asked AS (
    SELECT
        client_id,
        client_host,
        time,
        time_ns,
        error,
        asks_all_topics,
        array_length(topics) AS topics,
        response_bytes
    FROM exchanges
    WHERE api = 'Metadata' AND request_status IS NOT NULL AND coalesce(client_id, '') LIKE $client
),
by_second AS (
    SELECT client_id, client_host, time_ns // 1000000000 AS in_second, count(*) AS requests
    FROM asked
    GROUP BY client_id, client_host, in_second
),
busiest AS (
    SELECT client_id, client_host, max(requests) AS busiest_second
    FROM by_second
    GROUP BY client_id, client_host
),
summed AS (
    SELECT
        client_id,
        client_host,
        count(*) AS requests,
        CAST(sum(CASE WHEN asks_all_topics THEN 1 ELSE 0 END) AS BIGINT) AS all_topics,
        (max(time_ns) - min(time_ns)) // 1000000 AS ms,
        CAST(sum(CASE WHEN error IS NULL THEN 0 ELSE 1 END) AS BIGINT) AS errors,
        max(topics) AS topics,
        CAST(coalesce(sum(response_bytes), 0) AS BIGINT) AS bytes,
        max(response_bytes) AS largest_bytes,
        min(time) AS first_seen,
        max(time) AS last_seen
    FROM asked
    GROUP BY client_id, client_host
)
SELECT
    summed.client_id,
    summed.client_host,
    summed.requests,
    summed.all_topics,
    busiest.busiest_second,
    CASE
        WHEN summed.ms >= 1000 THEN CAST((summed.requests - 1) * 600000 // summed.ms AS DOUBLE) / 10
    END AS per_minute,
    summed.bytes,
    summed.largest_bytes,
    summed.topics,
    summed.errors,
    summed.first_seen,
    summed.last_seen
FROM summed
JOIN busiest
    ON busiest.client_id IS NOT DISTINCT FROM summed.client_id
    AND busiest.client_host = summed.client_host
ORDER BY
    summed.bytes DESC,
    summed.requests DESC,
    summed.client_id NULLS FIRST,
    summed.client_host
