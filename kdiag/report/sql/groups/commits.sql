-- Who commits offsets, how often, and is it too often?
--
-- One row for each group and client, the most commits first. Each commit is a record in
-- `__consumer_offsets` for each of its partitions, replicated with acks=all. Consumers commit every
-- five seconds by default; many a second mean one for each record or for each poll.
-- `busiest_second` is the most commits that began in one second; `per_s` is over the time between
-- the first and the last, and null where that is less than a second.
--
-- parameter group (string) = %: only groups like this, in LIKE's notation.
-- wide: client_host, bytes_per_commit, longest_us, last_seen, first_seen, in_transaction
WITH committed AS (
    SELECT
        named.group_id,
        e.client_id,
        e.client_host,
        e.api,
        e.time,
        e.time_ns,
        e.error,
        e.request_bytes,
        CASE
            WHEN e.latency_us IS NOT NULL THEN e.response_first_byte_ns - e.request_last_byte_ns
        END AS latency_ns
    FROM exchanges AS e
    CROSS JOIN UNNEST(e.groups) AS named(group_id)
    WHERE e.api IN ('OffsetCommit', 'TxnOffsetCommit')
),
by_second AS (
    SELECT group_id, client_id, client_host, time_ns // 1000000000 AS in_second, count(*) AS commits
    FROM committed
    GROUP BY group_id, client_id, client_host, in_second
),
busiest AS (
    SELECT group_id, client_id, client_host, max(commits) AS busiest_second
    FROM by_second
    GROUP BY group_id, client_id, client_host
),
summed AS (
    SELECT
        group_id,
        client_id,
        client_host,
        count(*) AS commits,
        (max(time_ns) - min(time_ns)) // 1000000 AS ms,
        CAST(sum(CASE WHEN api = 'TxnOffsetCommit' THEN 1 ELSE 0 END) AS BIGINT) AS in_transaction,
        CAST(sum(CASE WHEN error IS NULL THEN 0 ELSE 1 END) AS BIGINT) AS errors,
        CAST(sum(request_bytes) AS BIGINT) // count(*) AS bytes_per_commit,
        max(latency_ns) // 1000 AS longest_us,
        min(time) AS first_seen,
        max(time) AS last_seen
    FROM committed
    WHERE group_id LIKE $group
    GROUP BY group_id, client_id, client_host
)
SELECT
    summed.group_id,
    summed.client_id,
    summed.client_host,
    summed.commits,
    CASE
        WHEN summed.ms >= 1000 THEN CAST((summed.commits - 1) * 10000 // summed.ms AS DOUBLE) / 10
    END AS per_s,
    busiest.busiest_second,
    summed.errors,
    summed.in_transaction,
    summed.bytes_per_commit,
    summed.longest_us,
    summed.first_seen,
    summed.last_seen
FROM summed
JOIN busiest
    ON busiest.group_id = summed.group_id
    AND busiest.client_id IS NOT DISTINCT FROM summed.client_id
    AND busiest.client_host = summed.client_host
ORDER BY
    summed.commits DESC,
    summed.group_id,
    summed.client_id NULLS FIRST,
    summed.client_host
