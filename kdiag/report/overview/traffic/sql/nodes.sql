-- Which brokers have the same address, by one answer to Metadata?
--
-- parameter most (bigint) = 10000: how many addresses.
WITH answers AS (
    SELECT DISTINCT brokers FROM exchanges WHERE brokers IS NOT NULL
),
told AS (
    SELECT brokers, unnest(brokers) AS broker FROM answers
),
shared AS (
    SELECT
        broker.host || ':' || broker.port AS address,
        list(broker.node_id) AS nodes
    FROM told
    GROUP BY brokers, broker.host, broker.port
    HAVING count(*) > 1
)
SELECT
    address,
    list_sort(list_distinct(flatten(list(nodes)))) AS nodes,
    count(*) OVER () AS all_rows
FROM shared
GROUP BY address
ORDER BY address
LIMIT $most
