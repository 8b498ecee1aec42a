-- Who talks to whom, about what, and how much?
--
-- One row for each client id, address and broker, the one with the most bytes first. `does` says
-- what for: `produces`, `fetches`, `replicates` (a broker that follows), `shares` (share groups),
-- `groups` (members and commits), `transacts`, and `asks` for everything else. Bytes are those of
-- the frames. A connection of which nothing could be read, as with TLS without its keys, has a row
-- with its protocol and the bytes that TCP carried.
--
-- parameter client (string) = %: only client ids like this, in LIKE's notation.
-- wide: protocol, last_seen, first_seen, software, requests, connections, client_host
WITH told AS (
    SELECT
        client_id,
        client_host,
        broker,
        connection_id,
        CASE
            WHEN api = 'Produce' THEN 'produces'
            WHEN api = 'Fetch' AND replica_id >= 0 THEN 'replicates'
            WHEN api = 'Fetch' THEN 'fetches'
            WHEN api LIKE 'Share%' THEN 'shares'
            WHEN api IN (
                'JoinGroup', 'SyncGroup', 'Heartbeat', 'LeaveGroup', 'OffsetCommit', 'OffsetFetch',
                'ConsumerGroupHeartbeat', 'StreamsGroupHeartbeat'
            ) THEN 'groups'
            WHEN api IN (
                'InitProducerId', 'AddPartitionsToTxn', 'AddOffsetsToTxn', 'EndTxn',
                'TxnOffsetCommit', 'WriteTxnMarkers'
            ) THEN 'transacts'
            ELSE 'asks'
        END AS deed,
        time,
        CASE WHEN request_bytes IS NULL THEN 0 ELSE 1 END AS asked,
        coalesce(request_bytes, 0) AS sent_bytes,
        coalesce(response_bytes, 0) AS received_bytes
    FROM exchanges
    WHERE coalesce(client_id, '') LIKE $client
),
deeds AS (
    SELECT client_id, client_host, broker, deed
    FROM told
    GROUP BY client_id, client_host, broker, deed
),
does AS (
    SELECT client_id, client_host, broker, string_agg(deed, ', ' ORDER BY deed) AS does
    FROM deeds
    GROUP BY client_id, client_host, broker
),
talks AS (
    SELECT
        told.client_id,
        told.client_host,
        told.broker,
        max(c.protocol) AS protocol,
        max(c.client_software_name || ' ' || c.client_software_version) AS software,
        count(DISTINCT told.connection_id) AS connections,
        CAST(sum(told.asked) AS BIGINT) AS requests,
        CAST(sum(told.sent_bytes) AS BIGINT) AS sent_bytes,
        CAST(sum(told.received_bytes) AS BIGINT) AS received_bytes,
        min(told.time) AS first_seen,
        max(told.time) AS last_seen
    FROM told
    LEFT JOIN connections AS c ON c.connection_id = told.connection_id
    GROUP BY told.client_id, told.client_host, told.broker
),
readable AS (
    SELECT DISTINCT connection_id FROM exchanges
),
silent AS (
    SELECT
        c.client_host,
        c.broker,
        c.protocol,
        count(*) AS connections,
        CAST(sum(c.request_bytes) AS BIGINT) AS sent_bytes,
        CAST(sum(c.response_bytes) AS BIGINT) AS received_bytes,
        min(c.first_time) AS first_seen,
        max(c.last_time) AS last_seen
    FROM connections AS c
    LEFT JOIN readable ON readable.connection_id = c.connection_id
    WHERE readable.connection_id IS NULL AND '' LIKE $client
    GROUP BY c.client_host, c.broker, c.protocol
),
everybody AS (
    SELECT
        talks.client_id,
        talks.client_host,
        talks.broker,
        does.does,
        talks.sent_bytes,
        talks.received_bytes,
        talks.connections,
        talks.requests,
        talks.software,
        talks.protocol,
        talks.first_seen,
        talks.last_seen
    FROM talks
    JOIN does
        ON does.client_id IS NOT DISTINCT FROM talks.client_id
        AND does.client_host = talks.client_host
        AND does.broker = talks.broker
    UNION ALL
    SELECT
        NULL AS client_id,
        client_host,
        broker,
        NULL AS does,
        sent_bytes,
        received_bytes,
        connections,
        0 AS requests,
        NULL AS software,
        protocol,
        first_seen,
        last_seen
    FROM silent
)
SELECT
    client_id,
    client_host,
    broker,
    does,
    sent_bytes,
    received_bytes,
    connections,
    requests,
    software,
    protocol,
    first_seen,
    last_seen
FROM everybody
ORDER BY
    sent_bytes + received_bytes DESC,
    client_id NULLS FIRST,
    client_host,
    broker,
    protocol NULLS FIRST
