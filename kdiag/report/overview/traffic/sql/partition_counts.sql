-- How many partitions do topics have to which much was written, by what brokers told last?
--
-- It is told in bodies of Metadata responses. Of those about the same topics the last one counts,
-- with and without an error: they are long, and may be many.
--
-- parameter least_bytes (bigint) = 1: of how much at least.
-- parameter most (bigint) = 10000: how many topics, those with the most bytes.
WITH written AS (
    SELECT topic, sum(size_bytes) AS bytes
    FROM batches
    WHERE api = 'Produce' AND topic IS NOT NULL
    GROUP BY topic
    HAVING sum(size_bytes) >= $least_bytes
),
last_told AS (
    SELECT topics, max(time_ns) AS time_ns, arg_max(response_body, time_ns) AS body
    FROM exchanges
    WHERE api = 'Metadata' AND response_status = 'ok' AND response_body IS NOT NULL
    GROUP BY topics, error
),
told AS (
    SELECT
        written.topic,
        written.bytes,
        last_told.time_ns,
        last_told.body,
        list_position(json_extract_string(body, '$.topics[*].name'), written.topic) - 1 AS place
    FROM last_told
    JOIN written ON list_contains(last_told.topics, written.topic)
),
counted AS (
    SELECT
        topic,
        bytes,
        time_ns,
        json_array_length(body, '$.topics[' || place || '].partitions') AS partitions
    FROM told
    WHERE place >= 0
)
SELECT topic, arg_max(partitions, time_ns) AS partitions, count(*) OVER () AS all_rows
FROM counted
WHERE partitions > 0
GROUP BY topic
ORDER BY max(bytes) DESC, topic
LIMIT $most
