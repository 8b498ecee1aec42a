-- Which errors were there, how many, and in how many blocks of time?
--
-- A request that was sent shortly before the end misses no answer: it was still to come.
--
-- parameter late_ns (bigint) = 1000000000: how long before the end, on top of what it may wait.
-- parameter start_ns (bigint) = 0: the first moment of the capture.
-- parameter span_ns (bigint) = 1: its length.
-- parameter blocks (bigint) = 20: into how many it is cut.
SELECT
    coalesce(error, status) AS problem,
    coalesce(api, '') AS api,
    count(*) AS exchanges,
    count(DISTINCT (CAST(time_ns - $start_ns AS DOUBLE) * $blocks / $span_ns)::BIGINT)
        AS blocks
FROM exchanges
WHERE error IS NOT NULL
    OR status IN ('partial', 'malformed', 'unmatched')
    OR (
        status = 'unanswered'
        AND NOT (
            unanswered_reason = 'in_flight'
            AND time_ns + 1000000 * CAST(coalesce(allowed_wait_ms, 0) AS BIGINT) + $late_ns
                > $start_ns + $span_ns
        )
    )
GROUP BY ALL
ORDER BY problem, api
