-- How often did consumers ask brokers for a fetch session, and go on with one?
--
-- Sessions are there from version 7 on (KIP-227).
--
-- parameter most (bigint) = 10000: how many clients of brokers, those that ask most often.
SELECT
    client_host,
    client_id,
    broker,
    count(CASE WHEN session_epoch = 0 THEN 1 END) AS "full",
    count(CASE WHEN session_epoch > 0 THEN 1 END) AS incremental,
    coalesce(max(CASE WHEN session_epoch = 0 THEN number END), 0) AS example,
    count(*) OVER () AS all_rows
FROM exchanges
WHERE api_key = 1 AND version >= 7 AND request_status = 'ok' AND coalesce(replica_id, -1) < 0
GROUP BY client_host, client_id, broker
ORDER BY "full" DESC, client_host, client_id NULLS FIRST, broker
LIMIT $most
