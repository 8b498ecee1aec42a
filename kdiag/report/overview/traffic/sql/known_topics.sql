-- Which topics do brokers know?
--
-- parameter most_topics (bigint) = 1000: how many.
SELECT DISTINCT unnest(topics) AS topic
FROM exchanges
WHERE api_key = 3 AND response_status = 'ok' AND request_status IS NOT NULL AND error IS NULL
ORDER BY topic
LIMIT $most_topics
