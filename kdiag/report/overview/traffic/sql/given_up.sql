-- Who hung up on which broker while waiting for an answer?
--
-- parameter least_ns (bigint) = 5000000000: after so long at least, beyond what the request allowed.
-- parameter most (bigint) = 10000: how many, those that waited longest.
WITH waited AS (
    SELECT
        exchanges.*,
        connections.closed_ns - exchanges.request_last_byte_ns AS waited_ns
    FROM exchanges
    JOIN connections ON connections.connection_id = exchanges.connection_id
    WHERE exchanges.unanswered_reason = 'client_closed'
        AND exchanges.request_status IS NOT NULL
        AND exchanges.api IS NOT NULL
)
SELECT
    client_host,
    client_id,
    broker,
    count(*) AS "count",
    max(waited_ns) AS longest_ns,
    arg_max(api || ' v' || version, waited_ns) AS api,
    arg_max(number, waited_ns) AS example,
    count(*) OVER () AS all_rows
FROM waited
WHERE waited_ns >= 1000000 * CAST(coalesce(allowed_wait_ms, 0) AS BIGINT) + $least_ns
GROUP BY client_host, client_id, broker
ORDER BY longest_ns DESC, client_host, client_id NULLS FIRST, broker
LIMIT $most
