-- What did some brokers answer, second by second, beside the writes with acks=all that waited?
--
-- `kind` is `written` for such writes that succeeded, `name` their topic then; `others` for all that
-- does not wait for followers, by the host of the client; `fetchers` for followers, by client id.
-- `$brokers` are the brokers.
--
-- parameter own (string) = kdiag-%: clients whose id is like this do not count.
WITH answered AS (
    SELECT broker, client_host, client_id, topics, error, response_last_byte_ns AS at_ns,
        api_key = 0 AND acks = -1 AS is_write
    FROM exchanges
    WHERE list_contains($brokers, broker)
        AND request_status IS NOT NULL
        AND response_last_byte_ns IS NOT NULL
        AND coalesce(client_id, '') NOT LIKE $own
),
named AS (
    SELECT broker, 'written' AS kind, unnest(topics) AS name, at_ns
    FROM answered
    WHERE is_write AND error IS NULL
    UNION ALL
    SELECT broker, 'others' AS kind, client_host AS name, at_ns FROM answered WHERE NOT is_write
    UNION ALL
    SELECT broker, 'fetchers' AS kind, client_id AS name, at_ns
    FROM answered
    WHERE NOT is_write AND regexp_full_match(client_id, 'broker-\d+-fetcher-\d+')
)
SELECT broker, kind, name, min(at_ns) AS from_ns, max(at_ns) AS to_ns
FROM named
GROUP BY broker, kind, name, at_ns // 250000000
ORDER BY from_ns
