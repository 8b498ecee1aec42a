-- With which settings did clients write, read and join groups?
--
-- Of each client and API the first exchanges are asked; a value counts if at least one in twenty of
-- them has it. What is in bodies alone is missing from tables that were written without them.
--
-- parameter most (bigint) = 200: how many exchanges of a client and API.
WITH asked AS (
    SELECT
        coalesce(nullif(client_id, ''), client_host) AS client,
        api,
        acks,
        allowed_wait_ms,
        min_bytes,
        request_body
    FROM exchanges
    WHERE api IN ('Produce', 'Fetch', 'JoinGroup') AND coalesce(replica_id, -1) < 0
        AND request_status IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY coalesce(nullif(client_id, ''), client_host), api ORDER BY time_ns
    ) <= $most
),
told AS (
    SELECT client, 'acks' AS setting, CAST(acks AS VARCHAR) AS value
    FROM asked WHERE api = 'Produce'
    UNION ALL
    SELECT client, 'request.timeout.ms (Produce)', request_body ->> '$.timeoutMs'
    FROM asked WHERE api = 'Produce'
    UNION ALL
    SELECT client, 'fetch.max.wait.ms', CAST(allowed_wait_ms AS VARCHAR)
    FROM asked WHERE api = 'Fetch'
    UNION ALL
    SELECT client, 'fetch.min.bytes', CAST(min_bytes AS VARCHAR)
    FROM asked WHERE api = 'Fetch'
    UNION ALL
    SELECT client, 'fetch.max.bytes', request_body ->> '$.maxBytes'
    FROM asked WHERE api = 'Fetch'
    UNION ALL
    SELECT
        client,
        'max.partition.fetch.bytes',
        request_body ->> '$.topics[0].partitions[0].partitionMaxBytes'
    FROM asked WHERE api = 'Fetch'
    UNION ALL
    SELECT client, 'isolation.level', request_body ->> '$.isolationLevel'
    FROM asked WHERE api = 'Fetch'
    UNION ALL
    SELECT client, 'session.timeout.ms', request_body ->> '$.sessionTimeoutMs'
    FROM asked WHERE api = 'JoinGroup'
    UNION ALL
    SELECT client, 'max.poll.interval.ms (rebalance timeout)', CAST(allowed_wait_ms AS VARCHAR)
    FROM asked WHERE api = 'JoinGroup'
    UNION ALL
    SELECT
        coalesce(nullif(client_id, ''), client_host),
        'compression.type',
        compression
    FROM batches WHERE api = 'Produce'
),
counted AS (
    SELECT
        client,
        setting,
        value,
        count(*) AS times,
        sum(count(*)) OVER (PARTITION BY client, setting) AS all_times
    FROM told
    WHERE value IS NOT NULL
    GROUP BY client, setting, value
)
SELECT client, setting, string_agg(value, ', ' ORDER BY value) AS value
FROM counted
WHERE times * 20 >= all_times
GROUP BY client, setting
ORDER BY client, setting
