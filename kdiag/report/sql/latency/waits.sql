-- Where do clients wait on purpose: for data, or for a quota?
--
-- One row for each client, broker and API that waits. A fetch is `empty` if no record came back,
-- and `at_limit` if it took as long as its `allowed_wait_ms`: an idle topic, or more `min_bytes`
-- than come in that time. That is no latency, and no lag. `throttle_ms` is how long brokers told the
-- client to stay away because of a quota.
--
-- parameter client (string) = %: only client ids like this, in LIKE's notation.
-- wide: client_host, min_bytes, longest_throttle_ms, at_limit, broker, allowed_wait_ms
WITH waits AS (
    SELECT
        client_id,
        client_host,
        broker,
        api,
        allowed_wait_ms,
        min_bytes,
        coalesce(throttle_ms, 0) AS told_ms,
        CASE
            WHEN api IN ('Fetch', 'ShareFetch') AND status = 'ok' AND error IS NULL
                AND coalesce(records_bytes, 0) = 0
                THEN 1
            ELSE 0
        END AS is_empty,
        CASE
            WHEN api IN ('Fetch', 'ShareFetch') AND latency_us >= 950 * CAST(allowed_wait_ms AS BIGINT) THEN 1
            ELSE 0
        END AS is_at_limit,
        CASE
            WHEN api IN ('Fetch', 'ShareFetch') AND latency_us IS NOT NULL
                THEN response_first_byte_ns - request_last_byte_ns
        END AS waited_ns
    FROM exchanges
    WHERE request_status IS NOT NULL
        AND (api IN ('Fetch', 'ShareFetch') OR throttle_ms > 0)
        AND coalesce(replica_id, -1) < 0
        AND coalesce(client_id, '') LIKE $client
)
SELECT
    client_id,
    client_host,
    broker,
    api,
    count(*) AS exchanges,
    CAST(sum(is_empty) AS BIGINT) AS empty,
    CAST(sum(is_empty) AS BIGINT) * 100 // count(*) AS empty_pct,
    CAST(sum(is_at_limit) AS BIGINT) AS at_limit,
    max(allowed_wait_ms) AS allowed_wait_ms,
    max(min_bytes) AS min_bytes,
    CAST(sum(waited_ns) AS BIGINT) // 1000000 AS waited_ms,
    CAST(sum(CASE WHEN told_ms > 0 THEN 1 ELSE 0 END) AS BIGINT) AS throttled,
    CAST(sum(told_ms) AS BIGINT) AS throttle_ms,
    max(told_ms) AS longest_throttle_ms
FROM waits
GROUP BY client_id, client_host, broker, api
ORDER BY
    throttle_ms DESC,
    waited_ms DESC NULLS LAST,
    client_id NULLS FIRST,
    client_host,
    broker,
    api
