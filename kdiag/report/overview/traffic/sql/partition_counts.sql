-- How many partitions do topics have to which much was written, by what brokers told last?
--
-- It is told in bodies of Metadata responses.
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
told AS (
    SELECT
        written.topic,
        written.bytes,
        exchanges.number,
        exchanges.response_body,
        list_position(json_extract_string(response_body, '$.topics[*].name'), written.topic) - 1
            AS place
    FROM exchanges
    JOIN written ON list_contains(exchanges.topics, written.topic)
    WHERE exchanges.api = 'Metadata'
        AND exchanges.response_status = 'ok'
        AND exchanges.response_body IS NOT NULL
),
counted AS (
    SELECT
        topic,
        bytes,
        number,
        json_array_length(response_body, '$.topics[' || place || '].partitions') AS partitions
    FROM told
    WHERE place >= 0
)
SELECT topic, arg_max(partitions, number) AS partitions, count(*) OVER () AS all_rows
FROM counted
WHERE partitions > 0
GROUP BY topic
ORDER BY max(bytes) DESC, topic
LIMIT $most
