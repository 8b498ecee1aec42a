-- On how many connections was TCP not followed?
SELECT
    count(*) AS connections,
    count(*) FILTER (WHERE tcp.connection_id IS NULL) AS unfollowed
FROM connections
LEFT JOIN tcp ON tcp.connection_id = connections.connection_id AND tcp.direction = 'request'
