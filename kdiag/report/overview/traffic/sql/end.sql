-- When was the last exchange, and the last packet of a connection with one? Of how many errors is it
-- not known what they are about?
SELECT
    coalesce(max(time_ns), 0) AS last_ns,
    count(CASE WHEN error IS NOT NULL AND response_status = 'ok' AND outcomes IS NULL THEN 1 END)
        AS "unknown",
    greatest(
        coalesce(max(time_ns), 0),
        (
            SELECT coalesce(max(last_ns), 0)
            FROM connections
            WHERE connection_id IN (SELECT connection_id FROM exchanges)
        )
    ) AS last_seen_ns
FROM exchanges
