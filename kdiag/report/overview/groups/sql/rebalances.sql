-- Which rebalances were there, in the order in which their groups went through them?
--
-- parameter most (bigint) = 100000: how many there are at most.
SELECT *, count(*) OVER () AS all_rows
FROM (SELECT *, row_number() OVER () AS place FROM rebalances)
ORDER BY group_id, type, place
LIMIT $most
