-- Which errors were there, how many, and in how many blocks of time?
--
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
WHERE error IS NOT NULL OR status IN ('unanswered', 'partial', 'malformed', 'unmatched')
GROUP BY ALL
ORDER BY problem, api
