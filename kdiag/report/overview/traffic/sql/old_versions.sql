-- Who sent which broker what Kafka 4 does not understand?
--
-- `$too_old` is a list of numbers: a thousand times the key of an API, and a version.
--
-- parameter most (bigint) = 10000: how many, those with the most requests.
SELECT
    client_host,
    client_id,
    broker,
    api_key,
    version,
    count(*) AS "count",
    min(number) AS example,
    count(*) OVER () AS all_rows
FROM exchanges
WHERE request_status IS NOT NULL AND NOT guessed AND version IS NOT NULL
GROUP BY client_host, client_id, broker, api_key, version
HAVING list_contains($too_old, api_key * 1000 + version)
ORDER BY count(*) DESC, client_host, client_id NULLS FIRST, broker, api_key, version
LIMIT $most
