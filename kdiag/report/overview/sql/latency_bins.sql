-- How long do brokers take over time, by API, and for each API by broker and by client?
--
-- Latencies are counted in buckets, 64 for each power of two, so a percentile is the middle of the
-- bucket that holds it (the nearest rank), at most 0.6 % off. What is not among the most frequent
-- is counted as `(others)`.
--
-- parameter start_ns (bigint) = 0: what bins count from.
-- parameter width_ns (bigint) = 1000000000: of a bin.
-- parameter most (bigint) = 8: how many APIs, brokers and clients have a line of their own.
WITH answered AS (
    SELECT
        (time_ns - $start_ns) // $width_ns AS bin,
        api,
        broker,
        coalesce(nullif(client_id, ''), client_host) AS client,
        latency_us,
        CAST(floor(log2(greatest(latency_us, 0.001)) * 64) AS INTEGER) AS bucket
    FROM exchanges
    WHERE latency_us IS NOT NULL AND api IS NOT NULL
),
apis AS (
    SELECT api FROM answered GROUP BY api ORDER BY count(*) DESC, api LIMIT $most
),
brokers AS (
    SELECT broker FROM answered GROUP BY broker ORDER BY count(*) DESC, broker LIMIT $most
),
clients AS (
    SELECT client FROM answered GROUP BY client ORDER BY count(*) DESC, client LIMIT $most
),
named AS (
    SELECT
        answered.bin,
        coalesce(apis.api, '(others)') AS api,
        coalesce(brokers.broker, '(others)') AS broker,
        coalesce(clients.client, '(others)') AS client,
        answered.bucket,
        answered.latency_us
    FROM answered
    LEFT JOIN apis USING (api)
    LEFT JOIN brokers USING (broker)
    LEFT JOIN clients USING (client)
),
counted AS (
    SELECT
        CASE
            WHEN grouping(broker) = 0 THEN 'broker'
            WHEN grouping(client) = 0 THEN 'client'
            ELSE 'api'
        END AS dimension,
        api,
        coalesce(broker, client, api) AS name,
        bin,
        bucket,
        count(*) AS answers,
        max(latency_us) AS most_us
    FROM named
    GROUP BY GROUPING SETS (
        (bin, api, bucket), (bin, api, broker, bucket), (bin, api, client, bucket)
    )
),
ranked AS (
    SELECT
        *,
        pow(2, (bucket + 0.5) / 64) AS middle_us,
        sum(answers) OVER (PARTITION BY dimension, api, name, bin ORDER BY bucket) AS place,
        sum(answers) OVER (PARTITION BY dimension, api, name, bin) AS all_answers
    FROM counted
)
SELECT
    dimension,
    api,
    name,
    bin,
    CAST(max(all_answers) AS BIGINT) AS answers,
    least(
        min(CASE WHEN place >= (all_answers * 50 + 99) // 100 THEN middle_us END), max(most_us)
    ) AS p50_us,
    least(
        min(CASE WHEN place >= (all_answers * 90 + 99) // 100 THEN middle_us END), max(most_us)
    ) AS p90_us,
    least(
        min(CASE WHEN place >= (all_answers * 99 + 99) // 100 THEN middle_us END), max(most_us)
    ) AS p99_us,
    max(most_us) AS most_us
FROM ranked
GROUP BY dimension, api, name, bin
ORDER BY dimension, api, name, bin
