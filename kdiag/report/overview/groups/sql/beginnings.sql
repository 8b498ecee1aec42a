-- Since when is each group known to be of which kind?
WITH told AS (
    SELECT
        groups[1] AS group_id,
        CASE api
            WHEN 'ConsumerGroupHeartbeat' THEN 'consumer'
            WHEN 'ShareGroupHeartbeat' THEN 'share'
            WHEN 'StreamsGroupHeartbeat' THEN 'streams'
            ELSE 'classic'
        END AS type,
        CASE
            WHEN api IN ('JoinGroup', 'SyncGroup') OR response_last_byte_ns IS NULL
            THEN request_last_byte_ns
            ELSE greatest(request_last_byte_ns, response_last_byte_ns)
        END AS at_ns
    FROM exchanges
    WHERE request_status = 'ok'
        AND api IN (
            'JoinGroup',
            'SyncGroup',
            'Heartbeat',
            'LeaveGroup',
            'ConsumerGroupHeartbeat',
            'ShareGroupHeartbeat',
            'StreamsGroupHeartbeat'
        )
)
SELECT group_id, type, min(at_ns) AS first_ns
FROM told
WHERE group_id IS NOT NULL
GROUP BY group_id, type
ORDER BY group_id, first_ns, type
