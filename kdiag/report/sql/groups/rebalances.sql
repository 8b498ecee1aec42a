-- Why do groups rebalance, who causes it, and how long does it take?
--
-- One row for each cause and the client that caused it, by the first cause of each rebalance; `certain`
-- counts those where a client or a broker said so in bytes. `stopped_ms` is the time from the first
-- JoinGroup to the last assignment of all of them: how long partitions had no owner that members
-- give up to rebalance, which are all with an eager assignor. The slowest is the client for which
-- the others waited longest. Times are null where they were not seen.
--
-- parameter group (string) = %: only groups like this, in LIKE's notation.
-- wide: last_seen, first_seen, slowest_client_host, certain, total_ms, software, type
WITH ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY group_id, type, cause, client_host, client_id, software
            ORDER BY slowest_wait_ns DESC NULLS LAST, time_ns, generation
        ) AS place
    FROM rebalances
    WHERE group_id LIKE $group
)
SELECT
    group_id,
    type,
    cause,
    client_host,
    client_id,
    software,
    count(*) AS rebalances,
    count(CASE WHEN confidence = 'certain' THEN 1 END) AS certain,
    max(duration_ns) // 1000000 AS longest_ms,
    CAST(sum(duration_ns) AS BIGINT) // 1000000 AS total_ms,
    CAST(sum(stopped_ns) AS BIGINT) // 1000000 AS stopped_ms,
    max(CASE WHEN place = 1 THEN slowest_client_id END) AS slowest_client_id,
    max(CASE WHEN place = 1 THEN slowest_client_host END) AS slowest_client_host,
    max(slowest_wait_ns) // 1000000 AS slowest_wait_ms,
    min(time) AS first_seen,
    max(time) AS last_seen
FROM ranked
GROUP BY group_id, type, cause, client_host, client_id, software
ORDER BY
    rebalances DESC,
    group_id,
    type,
    cause,
    client_host NULLS FIRST,
    client_id NULLS FIRST,
    software NULLS FIRST
