-- How long does each broker take to answer each client, where it answers at once?
--
-- Latencies are counted by how many binary digits they have in nanoseconds. A connection with a
-- request that may wait does not count: what follows it waits, too.
--
-- `$served_at_once` and `$may_wait` are keys of APIs.
--
-- parameter most (bigint) = 10000: how many clients of brokers, those with the most answers.
WITH waiting AS (
    SELECT DISTINCT connection_id FROM exchanges WHERE list_contains($may_wait, api_key)
),
counted AS (
    SELECT
        broker,
        client_host,
        client_id,
        CAST(floor(log2(greatest(round(latency_us * 1000), 0.5))) AS INTEGER) + 1 AS bits,
        count(*) AS answers
    FROM exchanges
    ANTI JOIN waiting USING (connection_id)
    WHERE latency_us IS NOT NULL AND list_contains($served_at_once, api_key)
    GROUP BY broker, client_host, client_id, bits
)
SELECT
    broker,
    client_host,
    client_id,
    list(bits ORDER BY bits) AS bits,
    list(answers ORDER BY bits) AS answers,
    count(*) OVER () AS all_rows
FROM counted
GROUP BY broker, client_host, client_id
ORDER BY sum(counted.answers) DESC, broker, client_host, client_id NULLS FIRST
LIMIT $most
