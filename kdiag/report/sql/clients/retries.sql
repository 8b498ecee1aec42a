-- What do clients ask again, and after what?
--
-- One row for each kind of retry of a client. `batch sent again` is certain: an idempotent
-- producer sent a batch with the same sequence twice, and brokers keep one of them. Otherwise a
-- request is `asked again` if the one before it, of the same client, API, topics and groups, had an
-- error or no answer; `after` says which. MEMBER_ID_REQUIRED is no error but the first step of
-- joining, and counts as none. `soon_ms` is the shortest time between the two: a client that waits
-- for nothing loads the broker that already has a problem.
--
-- parameter client (string) = %: only client ids like this, in LIKE's notation.
-- wide: last_seen, first_seen, client_host, late_ms, soon_ms
WITH again AS (
    SELECT
        client_id,
        client_host,
        api,
        time,
        time_ns,
        lag(time_ns) OVER same AS earlier_ns,
        lag(
            CASE
                WHEN error <> 'MEMBER_ID_REQUIRED' THEN error
                WHEN status = 'unanswered' THEN coalesce(unanswered_reason, status)
            END
        ) OVER same AS after
    FROM exchanges
    WHERE api IS NOT NULL AND request_status IS NOT NULL
    WINDOW same AS (
        PARTITION BY client_host, client_id, api, topics, groups
        ORDER BY time_ns, connection_id, correlation_id
    )
),
batch_again AS (
    SELECT
        client_id,
        client_host,
        api,
        time,
        time_ns,
        is_transactional,
        lag(time_ns) OVER (
            PARTITION BY producer_id, producer_epoch, base_sequence, topic, partition, record_count
            ORDER BY time_ns, connection_id, correlation_id
        ) AS earlier_ns
    FROM batches
    WHERE api = 'Produce' AND producer_id >= 0 AND base_sequence >= 0
),
retries AS (
    SELECT 'asked again' AS what, after, api, client_id, client_host, time, time_ns, earlier_ns
    FROM again
    WHERE after IS NOT NULL
    UNION ALL
    SELECT
        'batch sent again' AS what,
        NULL AS after,
        api,
        client_id,
        client_host,
        time,
        time_ns,
        earlier_ns
    FROM batch_again
    WHERE earlier_ns IS NOT NULL
)
SELECT
    what,
    after,
    api,
    client_id,
    client_host,
    count(*) AS retries,
    min(time_ns - earlier_ns) // 1000000 AS soon_ms,
    max(time_ns - earlier_ns) // 1000000 AS late_ms,
    min(time) AS first_seen,
    max(time) AS last_seen
FROM retries
WHERE coalesce(client_id, '') LIKE $client
GROUP BY what, after, api, client_id, client_host
ORDER BY
    retries DESC,
    what,
    after NULLS FIRST,
    api,
    client_id NULLS FIRST,
    client_host
