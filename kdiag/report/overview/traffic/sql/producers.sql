-- What did each client write?
--
-- parameter limit_bytes (bigint) = 1048588: an example is wanted of a batch larger than that.
-- parameter most (bigint) = 10000: how many clients, those with the most requests.
WITH written AS (
    SELECT
        client_host,
        client_id,
        count(*) AS requests,
        CAST(coalesce(sum(batches), 0) AS BIGINT) AS batches,
        CAST(coalesce(sum(records), 0) AS BIGINT) AS records,
        CAST(coalesce(sum(records_bytes), 0) AS BIGINT) AS bytes,
        count(CASE WHEN acks = 0 THEN 1 END) AS unanswered,
        min(time_ns) AS first_ns,
        max(time_ns) AS last_ns,
        arg_min(number, time_ns) AS example,
        coalesce(arg_min(number, time_ns) FILTER (acks = 0), 0) AS unanswered_example
    FROM exchanges
    WHERE api_key = 0 AND request_status = 'ok'
    GROUP BY client_host, client_id
),
sizes AS (
    SELECT client_host, client_id, max(size_bytes) AS largest_bytes
    FROM batches
    WHERE api = 'Produce'
    GROUP BY client_host, client_id
),
examples AS (
    SELECT
        batches.client_host,
        batches.client_id,
        arg_max(exchanges.number, batches.size_bytes) AS largest_example
    FROM batches
    JOIN exchanges
        ON exchanges.connection_id = batches.connection_id
        AND exchanges.time_ns = batches.time_ns
        AND exchanges.correlation_id = batches.correlation_id
    WHERE batches.api = 'Produce' AND batches.size_bytes > $limit_bytes
    GROUP BY batches.client_host, batches.client_id
)
SELECT
    written.*,
    coalesce(sizes.largest_bytes, 0) AS largest_bytes,
    coalesce(examples.largest_example, 0) AS largest_example,
    count(*) OVER () AS all_rows
FROM written
LEFT JOIN sizes
    ON sizes.client_host = written.client_host
    AND sizes.client_id IS NOT DISTINCT FROM written.client_id
LEFT JOIN examples
    ON examples.client_host = written.client_host
    AND examples.client_id IS NOT DISTINCT FROM written.client_id
ORDER BY written.requests DESC, written.client_host, written.client_id NULLS FIRST
LIMIT $most
