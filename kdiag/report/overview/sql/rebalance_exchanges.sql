-- Which exchanges caused rebalances?
--
-- With the columns of `kept_exchanges`.
--
-- parameter most (bigint) = 20: how many rebalances, those that took longest.
-- parameter most_letters (bigint) = 200000: how much of a body.
WITH causes AS (
    SELECT packet FROM rebalances
    WHERE packet IS NOT NULL
    ORDER BY duration_ns DESC NULLS LAST, time_ns LIMIT $most
)
SELECT
    e.number, e.time, e.connection, e.client, e.client_host, e.broker, e.client_id, e.api,
    e.version, e.correlation_id, e.status, e.latency_us, e.transfer_us, e.error, e.topics, e.groups,
    e.request_bytes, e.response_bytes, e.request_first_packet, e.request_last_packet,
    e.response_first_packet, e.response_last_packet, e.request_segments, e.response_segments,
    e.unanswered_reason,
    'rebalance' AS reasons,
    left(e.request_body, $most_letters) AS request_body,
    left(e.response_body, $most_letters) AS response_body,
    length(e.request_body) > $most_letters AS request_is_cut,
    length(e.response_body) > $most_letters AS response_is_cut
FROM exchanges AS e
WHERE e.api IN ('JoinGroup', 'LeaveGroup', 'SyncGroup', 'Heartbeat', 'ConsumerGroupHeartbeat',
    'ShareGroupHeartbeat', 'StreamsGroupHeartbeat')
    AND EXISTS (
        SELECT 1 FROM causes
        WHERE causes.packet BETWEEN e.request_first_packet AND e.request_last_packet
            OR causes.packet BETWEEN e.response_first_packet AND e.response_last_packet
    )
ORDER BY e.time_ns, e.number
LIMIT 3 * $most
