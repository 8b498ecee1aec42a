-- How much was written and read of each topic, by time?
--
-- parameter start_ns (bigint) = 0: the first moment of the capture.
-- parameter span_ns (bigint) = 1: its length.
-- parameter blocks (bigint) = 20: into how many it is cut.
SELECT
    flow,
    topic,
    least(
        $blocks - 1, CAST(floor(CAST(time_ns - $start_ns AS DOUBLE) * $blocks / $span_ns) AS BIGINT)
    ) AS block,
    CAST(sum(size_bytes) AS BIGINT) AS bytes
FROM batches
WHERE topic IS NOT NULL AND NOT starts_with(topic, '__')
GROUP BY ALL
ORDER BY flow, topic, block
