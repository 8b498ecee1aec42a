-- What did brokers refuse to each client, by partition, and did it succeed later?
--
-- `$ignored` are errors that are no refusals, `$of_brokers` those that are about the broker,
-- whatever topic was asked for. A success counts if it is about what was asked for.
--
-- parameter own (string) = kdiag-%: clients whose id is like this do not count.
-- parameter bucket_ns (bigint) = 250000000: how exactly it is known when there were successes.
-- parameter most_times (bigint) = 2000: how many times of a refusal.
-- parameter most (bigint) = 10000: how many refusals, the most frequent.
WITH answered AS (
    SELECT
        connection_id, time_ns, correlation_id, number, broker, client_host, client_id, api_key,
        error, outcomes,
        CASE
            WHEN len(groups) = 1 THEN groups[1]
            WHEN len(transactional_ids) = 1 THEN transactional_ids[1]
            ELSE broker
        END AS about,
        CASE
            WHEN len(groups) = 1 THEN 'group'
            WHEN len(transactional_ids) = 1 THEN 'transaction'
            ELSE 'broker'
        END AS kind
    FROM exchanges
    WHERE api_key IS NOT NULL
        AND request_status IS NOT NULL
        AND response_status IS NOT NULL
        AND coalesce(client_id, '') NOT LIKE $own
),
failed AS (
    SELECT * EXCLUDE (outcomes, error), unnest(outcomes) AS part
    FROM answered
    WHERE error IS NOT NULL
),
refused AS (
    SELECT
        * EXCLUDE (about, kind, part),
        part.error AS error,
        coalesce(nullif(part.topic, ''), about) AS asked_about,
        part.partition AS asked_partition,
        CASE
            WHEN list_contains($of_brokers, part.error) THEN broker
            ELSE coalesce(nullif(part.topic, ''), about)
        END AS about,
        CASE
            WHEN list_contains($of_brokers, part.error) THEN 'broker'
            WHEN nullif(part.topic, '') IS NOT NULL THEN 'topic'
            ELSE kind
        END AS kind,
        CASE WHEN NOT list_contains($of_brokers, part.error) THEN part.partition END AS partition
    FROM failed
    WHERE part.error IS NOT NULL AND NOT list_contains($ignored, part.error)
),
ledgers AS (
    SELECT
        client_host, client_id, api_key, error, about, kind, partition,
        count(*) AS "count",
        min(time_ns) AS first_ns,
        max(time_ns) AS last_ns,
        arg_min(broker, time_ns) AS broker,
        arg_min(number, time_ns) AS example
    FROM refused
    GROUP BY client_host, client_id, api_key, error, about, kind, partition
    ORDER BY "count" DESC, ALL
    LIMIT $most
),
buckets AS (
    SELECT
        client_host, client_id, api_key, error, about, kind, partition,
        min(time_ns) AS from_ns,
        max(time_ns) AS to_ns
    FROM refused
    GROUP BY
        client_host, client_id, api_key, error, about, kind, partition, time_ns // $bucket_ns
),
times AS (
    SELECT
        client_host, client_id, api_key, error, about, kind, partition,
        list(from_ns ORDER BY from_ns)[:$most_times] || list(to_ns ORDER BY to_ns)[:$most_times]
            AS times_ns
    FROM buckets
    GROUP BY client_host, client_id, api_key, error, about, kind, partition
),
requests AS (
    SELECT
        client_host, client_id, api_key, error, about, kind,
        count(DISTINCT (connection_id, time_ns, correlation_id)) AS requests
    FROM refused
    GROUP BY client_host, client_id, api_key, error, about, kind
),
asked AS (
    SELECT client_host, client_id, api_key, count(*) AS asked
    FROM answered
    WHERE (client_host, coalesce(client_id, ''), api_key) IN (
        SELECT (client_host, coalesce(client_id, ''), api_key) FROM ledgers
    )
    GROUP BY client_host, client_id, api_key
),
parts AS (
    SELECT client_host, client_id, api_key, about, time_ns, unnest(outcomes) AS part
    FROM answered
    WHERE (client_host, coalesce(client_id, ''), api_key) IN (
        SELECT (client_host, coalesce(client_id, ''), api_key) FROM ledgers
    )
),
succeeded AS (
    SELECT
        client_host, client_id, api_key,
        coalesce(nullif(part.topic, ''), about) AS asked_about,
        part.partition AS asked_partition,
        time_ns // $bucket_ns AS bucket,
        max(time_ns) AS time_ns
    FROM parts
    WHERE part.error IS NULL
    GROUP BY client_host, client_id, api_key, asked_about, asked_partition, bucket
),
places AS (
    SELECT DISTINCT
        client_host, client_id, api_key, error, about, kind, partition, asked_about,
        asked_partition
    FROM refused
),
successes AS (
    SELECT
        ledgers.client_host, ledgers.client_id, ledgers.api_key, ledgers.error, ledgers.about,
        ledgers.kind, ledgers.partition,
        max(succeeded.time_ns) AS success_ns,
        list(DISTINCT succeeded.bucket)[:$most_times] AS buckets
    FROM ledgers
    JOIN places
        ON places.client_host = ledgers.client_host
        AND places.client_id IS NOT DISTINCT FROM ledgers.client_id
        AND places.api_key = ledgers.api_key
        AND places.error = ledgers.error
        AND places.about = ledgers.about
        AND places.kind = ledgers.kind
        AND places.partition IS NOT DISTINCT FROM ledgers.partition
    JOIN succeeded
        ON succeeded.client_host = places.client_host
        AND succeeded.client_id IS NOT DISTINCT FROM places.client_id
        AND succeeded.api_key = places.api_key
        AND succeeded.asked_about = places.asked_about
        AND succeeded.asked_partition IS NOT DISTINCT FROM places.asked_partition
        AND succeeded.time_ns > ledgers.first_ns
    GROUP BY
        ledgers.client_host, ledgers.client_id, ledgers.api_key, ledgers.error, ledgers.about,
        ledgers.kind, ledgers.partition
)
SELECT
    ledgers.*,
    times.times_ns,
    coalesce(successes.success_ns, 0) AS success_ns,
    coalesce(successes.buckets, []) AS successes,
    requests.requests,
    asked.asked,
    (SELECT count(*) FROM times) AS all_rows
FROM ledgers
JOIN times
    ON times.client_host = ledgers.client_host
    AND times.client_id IS NOT DISTINCT FROM ledgers.client_id
    AND times.api_key = ledgers.api_key
    AND times.error = ledgers.error
    AND times.about = ledgers.about
    AND times.kind = ledgers.kind
    AND times.partition IS NOT DISTINCT FROM ledgers.partition
JOIN requests
    ON requests.client_host = ledgers.client_host
    AND requests.client_id IS NOT DISTINCT FROM ledgers.client_id
    AND requests.api_key = ledgers.api_key
    AND requests.error = ledgers.error
    AND requests.about = ledgers.about
    AND requests.kind = ledgers.kind
JOIN asked
    ON asked.client_host = ledgers.client_host
    AND asked.client_id IS NOT DISTINCT FROM ledgers.client_id
    AND asked.api_key = ledgers.api_key
LEFT JOIN successes
    ON successes.client_host = ledgers.client_host
    AND successes.client_id IS NOT DISTINCT FROM ledgers.client_id
    AND successes.api_key = ledgers.api_key
    AND successes.error = ledgers.error
    AND successes.about = ledgers.about
    AND successes.kind = ledgers.kind
    AND successes.partition IS NOT DISTINCT FROM ledgers.partition
ORDER BY ledgers.first_ns, ledgers.example, ALL
