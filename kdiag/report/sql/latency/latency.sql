-- How long do brokers take to answer, by API, broker and client?
--
-- From the last byte of the request to the first of the response, as seen where the capture was
-- made. Percentiles are answers that were measured (the nearest rank). Fetch waits for data as long
-- as the client lets it, and JoinGroup and SyncGroup for the other members: there a long time is no
-- fault.
--
-- parameter api (string) = %: only APIs like this, in LIKE's notation.
-- parameter client (string) = %: only client ids like this.
-- wide: p999_us, least_us, p90_us, client_host, broker
WITH ranked AS (
    SELECT
        api,
        broker,
        client_host,
        client_id,
        latency_us,
        row_number() OVER (
            PARTITION BY api, broker, client_host, client_id ORDER BY latency_us
        ) AS place,
        count(*) OVER (PARTITION BY api, broker, client_host, client_id) AS answers
    FROM exchanges
    WHERE latency_us IS NOT NULL AND api IS NOT NULL
        AND api LIKE $api AND coalesce(client_id, '') LIKE $client
)
SELECT
    api,
    broker,
    client_host,
    client_id,
    count(*) AS answers,
    min(latency_us) AS least_us,
    max(CASE WHEN place = (answers * 50 + 99) // 100 THEN latency_us END) AS p50_us,
    max(CASE WHEN place = (answers * 90 + 99) // 100 THEN latency_us END) AS p90_us,
    max(CASE WHEN place = (answers * 99 + 99) // 100 THEN latency_us END) AS p99_us,
    max(CASE WHEN place = (answers * 999 + 999) // 1000 THEN latency_us END) AS p999_us,
    max(latency_us) AS most_us
FROM ranked
GROUP BY api, broker, client_host, client_id
ORDER BY api, broker, client_host, client_id NULLS FIRST
