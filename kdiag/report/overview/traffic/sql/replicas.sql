-- How many replicas have the partitions of some topics, by the last answer about each?
--
-- `$topics` are their names. It is in the bodies of Metadata responses.
WITH told AS (
    SELECT time_ns, json_extract(response_body, '$.topics[*]') AS found
    FROM exchanges
    WHERE api = 'Metadata' AND response_status = 'ok' AND response_body IS NOT NULL
        AND list_has_any(topics, $topics::VARCHAR[])
),
of_topics AS (
    SELECT time_ns, unnest(found) AS topic FROM told
),
of_partitions AS (
    SELECT
        time_ns,
        topic ->> '$.name' AS topic,
        unnest(json_extract(topic, '$.partitions[*]')) AS place
    FROM of_topics
    WHERE list_contains($topics, topic ->> '$.name')
)
SELECT
    topic,
    CAST(place ->> '$.partitionIndex' AS BIGINT) AS "partition",
    arg_max(json_array_length(place, '$.replicaNodes'), time_ns) AS replicas
FROM of_partitions
GROUP BY topic, "partition"
