-- What were members of groups refused, and what had they asked for?
--
-- All else that takes the body of a request or a response is null where that was left out.
WITH refused AS (
    SELECT
        number,
        api,
        error,
        broker,
        client_id,
        client_host,
        groups[1] AS group_id,
        greatest(request_last_byte_ns, response_last_byte_ns) AS at_ns,
        request_body,
        CASE WHEN api = 'JoinGroup' THEN response_body ELSE request_body END AS told_body
    FROM exchanges
    WHERE error IS NOT NULL
        AND request_status = 'ok'
        AND response_status = 'ok'
        AND api IN (
            'JoinGroup',
            'SyncGroup',
            'Heartbeat',
            'OffsetCommit',
            'ConsumerGroupHeartbeat',
            'ShareGroupHeartbeat',
            'StreamsGroupHeartbeat'
        )
)
SELECT
    api,
    error,
    broker,
    client_id,
    client_host,
    group_id,
    at_ns,
    told_body ->> 'memberId' AS member_id,
    CAST(request_body ->> 'generationIdOrMemberEpoch' AS BIGINT) AS generation,
    CAST(request_body ->> 'sessionTimeoutMs' AS BIGINT) AS session_timeout_ms,
    json_extract_string(request_body, '$.protocols[*].name') AS assignors,
    request_body IS NULL OR told_body IS NULL AS is_bare
FROM refused
ORDER BY at_ns, number
