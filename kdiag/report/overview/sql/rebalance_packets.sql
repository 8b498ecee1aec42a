-- Which packets made groups rebalance?
--
-- Of the rebalances that took longest.
--
-- parameter most (bigint) = 20: how many rebalances.
SELECT packet
FROM rebalances
WHERE packet IS NOT NULL
ORDER BY duration_ns DESC NULLS LAST, time_ns
LIMIT $most
