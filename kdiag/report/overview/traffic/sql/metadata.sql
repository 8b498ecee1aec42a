-- How often did clients ask for metadata, and how often within a second?
--
-- parameter busy (bigint) = 10: so many make a second a busy one.
-- parameter most (bigint) = 10000: how many clients, those with the busiest second.
WITH seconds AS (
    SELECT
        client_host,
        client_id,
        time_ns // 1000000000 AS second,
        count(*) AS requests,
        max(number) AS example
    FROM exchanges
    WHERE api_key = 3 AND request_status IS NOT NULL
    GROUP BY client_host, client_id, second
)
SELECT
    client_host,
    client_id,
    CAST(sum(requests) AS BIGINT) AS requests,
    max(requests) AS busiest,
    count(CASE WHEN requests >= $busy THEN 1 END) AS busy_seconds,
    arg_max(example, requests) AS example,
    count(*) OVER () AS all_rows
FROM seconds
GROUP BY client_host, client_id
ORDER BY busiest DESC, client_host, client_id NULLS FIRST
LIMIT $most
