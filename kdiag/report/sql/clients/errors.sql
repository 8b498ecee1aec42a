-- Which errors did brokers answer with, and what was left without a proper answer?
--
-- One row for each error of an API for a client and a broker; of an exchange with several errors
-- the first counts. Exchanges that are not in order count by their status instead: `unanswered`,
-- `partial`, `malformed`, and `unmatched` where the request was not seen.
--
-- parameter api (string) = %: only APIs like this, in LIKE's notation.
-- wide: highest_version, lowest_version, last_seen, first_seen, client_host, broker
WITH wrong AS (
    SELECT
        coalesce(error, status) AS problem,
        api,
        version,
        client_host,
        client_id,
        broker,
        time
    FROM exchanges
    WHERE (error IS NOT NULL OR status IN ('unanswered', 'partial', 'malformed', 'unmatched'))
        AND coalesce(api, '') LIKE $api
)
SELECT
    problem,
    api,
    client_host,
    client_id,
    broker,
    count(*) AS exchanges,
    min(version) AS lowest_version,
    max(version) AS highest_version,
    min(time) AS first_seen,
    max(time) AS last_seen
FROM wrong
GROUP BY problem, api, client_host, client_id, broker
ORDER BY
    exchanges DESC,
    problem,
    api NULLS FIRST,
    client_host,
    client_id NULLS FIRST,
    broker
