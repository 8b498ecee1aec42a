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
-- wide: number, connection_id, response_bytes, request_bytes, client_host, broker_us
-- wide: throttled_us, upload_us, download_us, queue_us, allowed_wait_ms, error, version
WITH ordered AS (
    SELECT
        *,
        max(response_last_byte_ns) OVER earlier AS answered_ns,
        max(response_last_byte_ns + 1000000 * CAST(coalesce(throttle_ms, 0) AS BIGINT)) OVER earlier AS free_ns
    FROM exchanges
    WHERE request_last_byte_ns IS NOT NULL
    WINDOW earlier AS (
        PARTITION BY connection_id
        ORDER BY time_ns, correlation_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
timed AS (
    SELECT
        *,
        response_last_byte_ns - request_first_byte_ns AS took_ns,
        greatest(0, request_last_byte_ns - request_first_byte_ns) AS upload_ns,
        greatest(0, response_last_byte_ns - response_first_byte_ns) AS download_ns,
        response_first_byte_ns - request_last_byte_ns AS latency_ns,
        greatest(
            0,
            least(response_first_byte_ns, coalesce(answered_ns, 0)) - request_last_byte_ns
        ) AS queue_ns
    FROM ordered
    WHERE latency_us IS NOT NULL AND api IS NOT NULL
        AND api LIKE $api AND coalesce(client_id, '') LIKE $client
),
split AS (
    SELECT
        *,
        greatest(
            0,
            least(response_first_byte_ns, coalesce(free_ns, 0)) - request_last_byte_ns - queue_ns
        ) AS throttled_ns
    FROM timed
),
parted AS (
    SELECT
        *,
        latency_ns - queue_ns - throttled_ns AS served_ns,
        greatest(
            0,
            latency_ns - queue_ns - throttled_ns
            - 1000000 * CAST(coalesce(allowed_wait_ms, 0) AS BIGINT)
        ) AS broker_ns
    FROM split
),
ranked AS (
    SELECT
        *,
        took_ns - (served_ns - broker_ns) AS net_ns,
        row_number() OVER (
            ORDER BY
                took_ns - (served_ns - broker_ns) DESC,
                time_ns,
                connection_id,
                correlation_id
        ) AS place
    FROM parted
)
SELECT
    net_ns // 1000 AS slow_us,
    CASE
        WHEN queue_ns >= greatest(throttled_ns, broker_ns, upload_ns, download_ns) THEN 'queue'
        WHEN throttled_ns >= greatest(broker_ns, upload_ns, download_ns) THEN 'throttled'
        WHEN broker_ns >= greatest(upload_ns, download_ns) THEN 'broker'
        WHEN upload_ns >= download_ns THEN 'upload'
        ELSE 'download'
    END AS why,
    api,
    version,
    client_id,
    client_host,
    broker,
    error,
    took_ns // 1000 AS took_us,
    allowed_wait_ms,
    queue_ns // 1000 AS queue_us,
    throttled_ns // 1000 AS throttled_us,
    broker_ns // 1000 AS broker_us,
    upload_ns // 1000 AS upload_us,
    download_ns // 1000 AS download_us,
    request_bytes,
    response_bytes,
    number,
    connection_id,
    time
FROM ranked
WHERE place <= $rows
ORDER BY place
