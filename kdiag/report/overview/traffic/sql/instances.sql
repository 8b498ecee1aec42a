-- Which clients used a group.instance.id that brokers refused to some of them?
--
-- parameter most_users (bigint) = 10000: how many connections.
WITH refused AS (
    SELECT DISTINCT unnest(groups) AS group_id
    FROM exchanges
    WHERE list_contains($of_instances, error)
),
used AS (
    SELECT
        groups[1] AS group_id,
        group_instance_id AS instance,
        connection_id,
        coalesce(client_id, client) AS client,
        min(time_ns) AS time_ns
    FROM exchanges
    WHERE group_instance_id IS NOT NULL AND len(groups) = 1 AND response_status IS NOT NULL
    GROUP BY ALL
)
SELECT used.*
FROM used
SEMI JOIN refused USING (group_id)
ORDER BY time_ns, connection_id
LIMIT $most_users
