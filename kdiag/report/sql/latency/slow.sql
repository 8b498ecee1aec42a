-- Which exchanges took longest, and why?
--
-- Without the wait that a request allows (the maximal wait of a fetch, the rebalance timeout of a
-- JoinGroup), which is on purpose. `why` names the largest part of the rest:
--
-- `queue`: the broker had not yet answered an earlier request of the same connection, and serves
-- one at a time; `throttled`: a quota made it leave the connection alone (KIP-219); `broker`: it
-- had the request and was at nothing else of this connection, a round trip from where the capture
-- was made included; `upload` and `download`: the frame was on its way, or its sender slow.
--
-- parameter rows (bigint) = 20: so many.
-- parameter api (string) = %: only APIs like this, in LIKE's notation.
-- parameter client (string) = %: only client ids like this.
-- wide: connection_id, response_bytes, request_bytes, client_host, broker_us
-- wide: throttled_us, upload_us, download_us, queue_us, allowed_wait_ms, error, version
-- wide: time, took_us, number
WITH narrow AS (
    SELECT
        connection_id,
        time_ns,
        correlation_id,
        request_first_byte_ns AS asked_ns,
        request_last_byte_ns AS sent_ns,
        response_first_byte_ns AS answered_ns,
        response_last_byte_ns AS received_ns,
        1000000 * CAST(coalesce(throttle_ms, 0) AS BIGINT) AS throttle_ns,
        1000000 * CAST(coalesce(allowed_wait_ms, 0) AS BIGINT) AS allowed_ns,
        latency_us IS NOT NULL AND api IS NOT NULL AND api LIKE $api
            AND coalesce(client_id, '') LIKE $client AS is_wanted
    FROM exchanges
    WHERE request_last_byte_ns IS NOT NULL
),
ordered AS (
    SELECT
        *,
        max(received_ns) OVER earlier AS busy_ns,
        max(received_ns + throttle_ns) OVER earlier AS free_ns
    FROM narrow
    WINDOW earlier AS (
        PARTITION BY connection_id
        ORDER BY time_ns, correlation_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
timed AS (
    SELECT
        connection_id,
        time_ns,
        correlation_id,
        allowed_ns,
        received_ns - asked_ns AS took_ns,
        greatest(0, sent_ns - asked_ns) AS upload_ns,
        greatest(0, received_ns - answered_ns) AS download_ns,
        answered_ns - sent_ns AS latency_ns,
        greatest(0, least(answered_ns, coalesce(busy_ns, 0)) - sent_ns) AS queue_ns,
        greatest(0, least(answered_ns, coalesce(free_ns, 0)) - sent_ns) AS held_ns
    FROM ordered
    WHERE is_wanted
),
split AS (
    SELECT *, greatest(0, held_ns - queue_ns) AS throttled_ns FROM timed
),
parted AS (
    SELECT
        *,
        latency_ns - queue_ns - throttled_ns AS served_ns,
        greatest(0, latency_ns - queue_ns - throttled_ns - allowed_ns) AS broker_ns
    FROM split
),
slowest AS (
    SELECT *, took_ns - (served_ns - broker_ns) AS net_ns
    FROM parted
    ORDER BY took_ns - (served_ns - broker_ns) DESC, time_ns, connection_id, correlation_id
    LIMIT $rows
)
SELECT
    s.net_ns // 1000 AS slow_us,
    CASE
        WHEN s.queue_ns >= greatest(s.throttled_ns, s.broker_ns, s.upload_ns, s.download_ns)
            THEN 'queue'
        WHEN s.throttled_ns >= greatest(s.broker_ns, s.upload_ns, s.download_ns) THEN 'throttled'
        WHEN s.broker_ns >= greatest(s.upload_ns, s.download_ns) THEN 'broker'
        WHEN s.upload_ns >= s.download_ns THEN 'upload'
        ELSE 'download'
    END AS why,
    e.api,
    e.version,
    e.client_id,
    e.client_host,
    e.broker,
    e.error,
    s.took_ns // 1000 AS took_us,
    e.allowed_wait_ms,
    s.queue_ns // 1000 AS queue_us,
    s.throttled_ns // 1000 AS throttled_us,
    s.broker_ns // 1000 AS broker_us,
    s.upload_ns // 1000 AS upload_us,
    s.download_ns // 1000 AS download_us,
    e.request_bytes,
    e.response_bytes,
    e.number,
    e.connection_id,
    e.time
FROM slowest AS s
JOIN exchanges AS e
    ON e.connection_id = s.connection_id
    AND e.time_ns = s.time_ns
    AND e.correlation_id IS NOT DISTINCT FROM s.correlation_id
ORDER BY s.net_ns DESC, s.time_ns, s.connection_id, s.correlation_id
