-- How often did connections commit for groups?
--
-- parameter most (bigint) = 10000: how many, those with the most commits.
SELECT
    any_value(client_host) AS client_host,
    any_value(client_id) AS client_id,
    any_value(connection) AS connection,
    groups[1] AS group_id,
    count(*) AS commits,
    min(time_ns) AS first_ns,
    max(time_ns) AS last_ns,
    arg_min(number, time_ns) AS example,
    count(*) OVER () AS all_rows
FROM exchanges
WHERE api_key = 8 AND request_status = 'ok' AND len(groups) > 0
GROUP BY connection_id, groups[1]
ORDER BY commits DESC, connection_id, group_id
LIMIT $most
