-- What were the percentiles of latency, hour by hour or over a year?
--
-- Answered by latency_minutes, where answers are counted in buckets that add up: a year of them is
-- one GROUP BY. A percentile is the middle of the bucket that holds it (the nearest rank), at most
-- 0.8 % off; the least and the most are the ends of their buckets. Latency is that of the report
-- latency: in Fetch, JoinGroup and SyncGroup a long time is no fault.
--
-- parameter minutes (bigint) = 60: of each row, counted from 1970 on; 0 for all time in one row.
-- parameter api (string) = %: only APIs like this, in LIKE's notation.
-- parameter broker (string) = %: only brokers like this.
-- parameter client (string) = %: only client ids like this.
-- wide: p999_us, least_us, p90_us, last_minute
WITH buckets AS (
    SELECT
        CASE WHEN $minutes > 0 THEN time_ns // (60000000000 * $minutes) ELSE 0 END AS span,
        api,
        from_ns,
        below_ns,
        min(time) AS first_minute,
        max(time) AS last_minute,
        CAST(sum(answers) AS BIGINT) AS answers
    FROM latency_minutes
    WHERE api IS NOT NULL AND api LIKE $api AND broker LIKE $broker
        AND coalesce(client_id, '') LIKE $client
    GROUP BY span, api, from_ns, below_ns
),
ranked AS (
    SELECT
        span,
        api,
        first_minute,
        last_minute,
        from_ns,
        below_ns,
        CAST(from_ns + below_ns - 1 AS DOUBLE) / 2000 AS middle_us,
        CAST(sum(answers) OVER (PARTITION BY span, api ORDER BY from_ns) AS BIGINT) AS place,
        CAST(sum(answers) OVER (PARTITION BY span, api) AS BIGINT) AS answers
    FROM buckets
)
SELECT
    min(first_minute) AS first_minute,
    max(last_minute) AS last_minute,
    api,
    max(answers) AS answers,
    CAST(min(from_ns) AS DOUBLE) / 1000 AS least_us,
    min(CASE WHEN place >= (answers * 50 + 99) // 100 THEN middle_us END) AS p50_us,
    min(CASE WHEN place >= (answers * 90 + 99) // 100 THEN middle_us END) AS p90_us,
    min(CASE WHEN place >= (answers * 99 + 99) // 100 THEN middle_us END) AS p99_us,
    min(CASE WHEN place >= (answers * 999 + 999) // 1000 THEN middle_us END) AS p999_us,
    CAST(max(below_ns) - 1 AS DOUBLE) / 1000 AS most_us
FROM ranked
GROUP BY span, api
ORDER BY span, api
