-- What did clients ask at addresses whose answers to ApiVersions are those of controllers?
--
-- `$of_clients` are keys of APIs that brokers have, `$of_controllers` those that controllers have.
--
-- parameter most_requests (bigint) = 100000: how many requests, the first.
WITH offers AS (
    SELECT broker, time_ns, [x.api_key FOR x IN broker_versions] AS offered
    FROM exchanges
    WHERE len(broker_versions) > 0
),
controllers AS (
    SELECT broker, min(time_ns) AS from_ns
    FROM offers
    GROUP BY broker
    HAVING bool_and(
        list_has_any(offered, $of_controllers) AND NOT list_has_any(offered, $of_clients)
    )
)
SELECT
    exchanges.broker,
    exchanges.number,
    exchanges.connection_id,
    exchanges.client,
    exchanges.client_id,
    exchanges.api_key,
    exchanges.time_ns,
    coalesce(connections.first_ns, exchanges.time_ns) AS first_ns,
    connections.closed_ns
FROM exchanges
JOIN controllers
    ON controllers.broker = exchanges.broker AND exchanges.time_ns >= controllers.from_ns
LEFT JOIN connections ON connections.connection_id = exchanges.connection_id
WHERE exchanges.request_status IS NOT NULL
ORDER BY exchanges.end_time, exchanges.number
LIMIT $most_requests
