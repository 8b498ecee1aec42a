-- How many requests went wrong, or took long?
--
-- A request is slow if its answer took ten times the median of its API, and more than a tenth of a
-- second. `$may_wait` are keys of APIs whose answers may wait.
--
-- parameter least_us (bigint) = 100000: how long a slow answer takes at least.
-- parameter times (bigint) = 10: how many times the median of its API.
WITH usual AS (
    SELECT api_key, median(latency_us) AS median_us
    FROM exchanges
    WHERE latency_us IS NOT NULL AND NOT list_contains($may_wait, api_key)
    GROUP BY api_key
)
SELECT
    count(request_status) AS requests,
    count(error) AS errors,
    count(CASE WHEN status = 'unanswered' THEN 1 END) AS unanswered,
    count(CASE WHEN status IN ('partial', 'malformed', 'unmatched') THEN 1 END) AS damaged,
    count(CASE WHEN latency_us > $least_us AND latency_us > $times * median_us THEN 1 END) AS slow
FROM exchanges
LEFT JOIN usual USING (api_key)
