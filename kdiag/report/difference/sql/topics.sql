-- Which topics were written or read?
SELECT topic, count(*) AS batches
FROM batches
WHERE topic IS NOT NULL AND NOT starts_with(topic, '__')
GROUP BY topic
ORDER BY topic
