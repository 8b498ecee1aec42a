-- How much was written to each partition?
--
-- parameter most (bigint) = 10000: how many, those with the most bytes.
SELECT
    topic,
    partition,
    CAST(sum(size_bytes) AS BIGINT) AS bytes,
    count(*) AS batches,
    count(*) OVER () AS all_rows
FROM batches
WHERE api = 'Produce' AND topic IS NOT NULL AND record_count IS NOT NULL
GROUP BY topic, partition
ORDER BY bytes DESC, topic, partition
LIMIT $most
