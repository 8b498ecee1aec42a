-- What did administrators change last?
--
-- parameter most_changes (bigint) = 1000: how many changes.
SELECT time_ns, coalesce(client_id, client) AS changed_by, change.subjects, change.text
FROM exchanges
WHERE change IS NOT NULL
ORDER BY time_ns DESC
LIMIT $most_changes
