-- Whom did quotas hold back, and for how long?
--
-- parameter most (bigint) = 10000: how many clients, those that waited longest.
SELECT
    client_host,
    client_id,
    count(*) AS "count",
    CAST(sum(throttle_ms) AS BIGINT) AS total_ms,
    max(throttle_ms) AS longest_ms,
    arg_max(number, throttle_ms) AS example,
    count(*) OVER () AS all_rows
FROM exchanges
WHERE throttle_ms > 0 AND request_status IS NOT NULL
GROUP BY client_host, client_id
ORDER BY total_ms DESC, client_host, client_id NULLS FIRST
LIMIT $most
