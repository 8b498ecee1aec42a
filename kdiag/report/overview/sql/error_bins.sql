-- Which errors were there when?
--
-- As in the report errors: exchanges that are not in order count by their status.
--
-- parameter start_ns (bigint) = 0: what bins count from.
-- parameter width_ns (bigint) = 1000000000: of a bin.
-- parameter most (bigint) = 10: how many problems have a colour of their own.
WITH wrong AS (
    SELECT
        coalesce(error, status) AS problem,
        (time_ns - $start_ns) // $width_ns AS bin
    FROM exchanges
    WHERE error IS NOT NULL OR status IN ('unanswered', 'partial', 'malformed', 'unmatched')
),
problems AS (
    SELECT problem FROM wrong GROUP BY problem ORDER BY count(*) DESC, problem LIMIT $most
)
SELECT coalesce(problems.problem, '(others)') AS problem, wrong.bin, count(*) AS exchanges
FROM wrong
LEFT JOIN problems USING (problem)
GROUP BY ALL
ORDER BY problem, bin
