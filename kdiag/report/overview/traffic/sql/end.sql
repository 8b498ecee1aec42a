-- When was the last exchange, and of how many errors is it not known what they are about?
SELECT
    coalesce(max(time_ns), 0) AS last_ns,
    count(CASE WHEN error IS NOT NULL AND response_status = 'ok' AND outcomes IS NULL THEN 1 END)
        AS "unknown"
FROM exchanges
