-- Which writes waited long for an answer, or in vain?
--
-- `$unknown` are reasons for which a request may have an answer.
--
-- parameter own (string) = kdiag-%: clients whose id is like this do not count.
-- parameter least_ns (bigint) = 3000000000: how long a late answer takes at least.
-- parameter most_waits (bigint) = 10000: how many writes, the first.
WITH waited AS (
    SELECT
        connection_id, time_ns, correlation_id, broker, client_host, client_id, acks, number,
        response_last_byte_ns
    FROM exchanges
    WHERE api_key = 0
        AND request_status = 'ok'
        AND acks <> 0
        AND coalesce(client_id, '') NOT LIKE $own
        AND (
            (response_status IS NULL AND NOT list_contains($unknown, unanswered_reason))
            OR latency_us * 1000 >= $least_ns
        )
),
places AS (
    SELECT
        batches.connection_id, batches.time_ns, batches.correlation_id,
        list(DISTINCT struct_pack(topic := topic, "partition" := partition)) AS places
    FROM batches
    SEMI JOIN waited
        ON waited.connection_id = batches.connection_id
        AND waited.time_ns = batches.time_ns
        AND waited.correlation_id = batches.correlation_id
    WHERE topic IS NOT NULL
    GROUP BY ALL
)
SELECT
    waited.broker,
    waited.time_ns AS asked_ns,
    coalesce(waited.response_last_byte_ns, connections.closed_ns, 0) AS ended_ns,
    waited.client_host,
    waited.client_id,
    waited.acks,
    places.places,
    waited.number
FROM waited
JOIN places
    ON places.connection_id = waited.connection_id
    AND places.time_ns = waited.time_ns
    AND places.correlation_id = waited.correlation_id
LEFT JOIN connections ON connections.connection_id = waited.connection_id
ORDER BY waited.time_ns, waited.number
LIMIT $most_waits
