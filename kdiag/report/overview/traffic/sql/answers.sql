-- How long does each broker take to answer each client, where it answers at once?
--
-- Latencies are counted by how many binary digits they have in nanoseconds. On a connection with a
-- request that may wait nothing counts from there on: what follows it waits, too.
--
-- `$served_at_once` and `$may_wait` are keys of APIs.
--
-- parameter most_samples (bigint) = 200: how many latencies of each client of a broker.
-- parameter most (bigint) = 10000: how many clients of brokers, those with the most answers.
WITH waiting AS (
    SELECT connection_id, min(time_ns) AS from_ns
    FROM exchanges
    WHERE list_contains($may_wait, api_key)
    GROUP BY connection_id
),
measured AS (
    SELECT
        broker,
        client_host,
        client_id,
        CAST(greatest(round(latency_us * 1000), 0) AS BIGINT) AS latency_ns,
        CAST(floor(log2(greatest(round(latency_us * 1000), 0.5))) AS INTEGER) + 1 AS bits,
        hash(exchanges.connection_id, time_ns, correlation_id) AS chance
    FROM exchanges
    LEFT JOIN waiting USING (connection_id)
    WHERE latency_us IS NOT NULL
        AND list_contains($served_at_once, api_key)
        AND (waiting.from_ns IS NULL OR time_ns < waiting.from_ns)
),
samples AS (
    SELECT broker, client_host, client_id, arg_min(latency_ns, chance, $most_samples) AS sample
    FROM measured
    GROUP BY broker, client_host, client_id
),
counted AS (
    SELECT broker, client_host, client_id, bits, count(*) AS answers
    FROM measured
    GROUP BY broker, client_host, client_id, bits
)
SELECT
    counted.broker,
    counted.client_host,
    counted.client_id,
    list(bits ORDER BY bits) AS bits,
    list(answers ORDER BY bits) AS answers,
    any_value(sample) AS sample,
    count(*) OVER () AS all_rows
FROM counted
JOIN samples
    ON samples.broker = counted.broker
    AND samples.client_host = counted.client_host
    AND samples.client_id IS NOT DISTINCT FROM counted.client_id
GROUP BY counted.broker, counted.client_host, counted.client_id
ORDER BY sum(counted.answers) DESC, counted.broker, counted.client_host,
    counted.client_id NULLS FIRST
LIMIT $most
