-- Which members of groups were seen, in the order of their groups?
--
-- parameter most (bigint) = 100000: how many there are at most.
SELECT *, count(*) OVER () AS all_rows
FROM (SELECT *, row_number() OVER () AS place FROM members)
ORDER BY group_id, type, place
LIMIT $most
