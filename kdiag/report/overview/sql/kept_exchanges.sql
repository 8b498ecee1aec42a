-- Which exchanges are worth to be shown in full?
--
-- The slowest of each API, broker and client, the first of each problem of an API and a client, those
-- in the lowest versions, those that made a group rebalance by one of the packets in the list
-- `$packets`, and those with the numbers in the list `$numbers`; a number counts within one run.
--
-- parameter most_slow (bigint) = 30: how many of the slowest.
-- parameter most_wrong (bigint) = 30: how many with problems.
-- parameter most_oldest (bigint) = 20: how many in the lowest version of an API and a client.
-- parameter most_rebalance (bigint) = 60: how many that made groups rebalance.
-- parameter most_named (bigint) = 60: how many with one of the numbers.
-- parameter most_letters (bigint) = 200000: how much of a body.
WITH spoken AS (
    SELECT
        api, version, broker, client_host, client_id, latency_us, coalesce(error, status) AS problem,
        error IS NOT NULL OR status IN ('unanswered', 'partial', 'malformed', 'unmatched')
            AS is_wrong,
        time_ns, number, request_first_packet, request_last_packet, response_first_packet,
        response_last_packet,
        struct_pack(
            connection_id := connection_id, time_ns := time_ns, correlation_id := correlation_id
        ) AS place
    FROM exchanges
),
slow AS (
    SELECT max_by(place, latency_us) AS place, 'slow' AS reason, 2 AS rank
    FROM spoken
    WHERE latency_us IS NOT NULL AND api IS NOT NULL
    GROUP BY api, broker, client_host, client_id
    ORDER BY max(latency_us) DESC, place
    LIMIT $most_slow
),
wrong AS (
    SELECT min_by(place, time_ns) AS place, 'wrong' AS reason, 3 AS rank
    FROM spoken
    WHERE is_wrong
    GROUP BY problem, api, client_host, client_id, broker
    ORDER BY count(*) DESC, place
    LIMIT $most_wrong
),
oldest AS (
    SELECT min_by(place, version) AS place, 'oldest' AS reason, 1 AS rank
    FROM spoken
    WHERE api IN ('Produce', 'Fetch', 'ListOffsets', 'OffsetCommit', 'OffsetFetch')
        AND version IS NOT NULL
    GROUP BY client_host, client_id, api
    ORDER BY min(version), place
    LIMIT $most_oldest
),
rebalance AS (
    SELECT place, 'rebalance' AS reason, 4 AS rank
    FROM spoken
    WHERE api IN ('JoinGroup', 'LeaveGroup', 'SyncGroup', 'Heartbeat', 'ConsumerGroupHeartbeat',
        'ShareGroupHeartbeat', 'StreamsGroupHeartbeat')
        AND EXISTS (
            SELECT 1
            FROM (SELECT unnest($packets::BIGINT[]) AS packet) AS causes
            WHERE causes.packet BETWEEN request_first_packet AND request_last_packet
                OR causes.packet BETWEEN response_first_packet AND response_last_packet
        )
    ORDER BY time_ns, number
    LIMIT $most_rebalance
),
named AS (
    SELECT place, 'named' AS reason, 5 AS rank
    FROM spoken
    WHERE list_contains($numbers::BIGINT[], number)
    ORDER BY time_ns, number
    LIMIT $most_named
),
chosen AS (
    SELECT
        place.connection_id AS connection_id,
        place.time_ns AS time_ns,
        place.correlation_id AS correlation_id,
        string_agg(reason, ' ' ORDER BY rank) AS reasons
    FROM (
        SELECT DISTINCT *
        FROM (
            FROM slow UNION ALL FROM wrong UNION ALL FROM oldest UNION ALL FROM rebalance
            UNION ALL FROM named
        ) AS united
    ) AS found
    GROUP BY place
)
SELECT
    e.number, e.time, e.connection, e.client, e.client_host, e.broker, e.client_id, e.api,
    e.version, e.correlation_id, e.status, e.latency_us, e.transfer_us, e.error, e.topics, e.groups,
    e.request_bytes, e.response_bytes, e.request_first_packet, e.request_last_packet,
    e.response_first_packet, e.response_last_packet, e.request_segments, e.response_segments,
    e.unanswered_reason,
    chosen.reasons,
    left(e.request_body, $most_letters) AS request_body,
    left(e.response_body, $most_letters) AS response_body,
    length(e.request_body) > $most_letters AS request_is_cut,
    length(e.response_body) > $most_letters AS response_is_cut
FROM exchanges AS e
JOIN chosen
    ON chosen.connection_id = e.connection_id
    AND chosen.time_ns = e.time_ns
    AND chosen.correlation_id IS NOT DISTINCT FROM e.correlation_id
-- A capture that two runs have read is in the tables twice.
QUALIFY row_number() OVER (PARTITION BY e.client, e.broker, e.time, e.number) = 1
ORDER BY e.time_ns, e.number
