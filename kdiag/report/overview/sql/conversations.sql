-- Who talks to whom, and how much?
--
-- One row for each client and broker. Bytes are those of the frames.
--
-- parameter most (bigint) = 400: how many rows there are at most, those with the most bytes.
SELECT
    coalesce(nullif(client_id, ''), client_host) AS client,
    client_host,
    client_id,
    broker,
    count(DISTINCT connection_id) AS connections,
    count(*) AS exchanges,
    CAST(coalesce(sum(request_bytes), 0) AS BIGINT) AS request_bytes,
    CAST(coalesce(sum(response_bytes), 0) AS BIGINT) AS response_bytes,
    count(error) AS errors,
    count(*) OVER () AS all_rows
FROM exchanges
GROUP BY client_host, client_id, broker
ORDER BY coalesce(sum(request_bytes), 0) + coalesce(sum(response_bytes), 0) DESC,
    client_host,
    client_id NULLS FIRST,
    broker
LIMIT $most
