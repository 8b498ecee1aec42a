-- Which connections and exchanges show a fault, and how often?
--
-- Those of one broker, kind and client together; the first to show it first. What was not answered
-- counts if the connection is there, as its TLS may explain that. Requests above the default of
-- socket.request.max.bytes count apart by their sizes.
WITH shown AS (
    SELECT
        broker,
        client,
        close_reason,
        tls_problem,
        NULL AS unanswered_reason,
        false AS is_violation,
        NULL AS api_key,
        NULL AS version,
        NULL AS request_bytes,
        false AS is_behind_proxy_header,
        first_ns AS time_ns
    FROM connections
    WHERE close_reason IN ('refused', 'no answer') OR tls_problem IS NOT NULL
    UNION ALL
    SELECT
        exchanges.broker,
        exchanges.client,
        NULL,
        connections.tls_problem,
        exchanges.unanswered_reason,
        exchanges.is_violation,
        exchanges.api_key,
        exchanges.version,
        CASE
            WHEN
                exchanges.request_bytes IS NULL OR exchanges.request_bytes > 104857600
                THEN exchanges.request_bytes
            ELSE 0
        END,
        coalesce(connections.preamble LIKE 'PROXY %' AND connections.responses = 0, false),
        exchanges.time_ns
    FROM exchanges
    LEFT JOIN connections ON connections.connection_id = exchanges.connection_id
    WHERE exchanges.is_violation
        OR (
            exchanges.unanswered_reason IN ('skipped', 'broker_closed', 'broker_reset')
            AND connections.connection_id IS NOT NULL
        )
)
SELECT
    broker,
    regexp_replace(client, ':\d+$', '') AS host,
    close_reason,
    tls_problem,
    unanswered_reason,
    is_violation,
    api_key,
    version,
    request_bytes,
    is_behind_proxy_header,
    count(*) AS "count",
    min(time_ns) AS first_ns,
    max(time_ns) AS last_ns
FROM shown
GROUP BY ALL
ORDER BY first_ns, host, broker, api_key, version
