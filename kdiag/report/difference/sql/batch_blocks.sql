-- How large were the batches that clients wrote, block by block?
--
-- parameter blocks (bigint) = 20: of a client and topic, if they have enough batches.
-- parameter least (bigint) = 8: how many batches a block has at least.
WITH placed AS (
    SELECT
        coalesce(nullif(client_id, ''), client_host) AS client,
        coalesce(topic, '(unknown)') AS topic,
        size_bytes,
        row_number() OVER (
            PARTITION BY coalesce(nullif(client_id, ''), client_host), topic
            ORDER BY time_ns, correlation_id, batch_index
        ) - 1 AS place,
        count(*) OVER (
            PARTITION BY coalesce(nullif(client_id, ''), client_host), topic
        ) AS batches
    FROM batches
    WHERE api = 'Produce' AND size_bytes IS NOT NULL
)
SELECT
    client,
    topic,
    place * greatest(1, least($blocks, batches // $least)) // batches AS block,
    quantile_disc(size_bytes, 0.5) AS bytes
FROM placed
GROUP BY ALL
ORDER BY client, topic, block
