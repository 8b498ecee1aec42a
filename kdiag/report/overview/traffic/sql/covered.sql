-- Of which times are there captures?
--
-- parameter most (bigint) = 100000: how many captures, the earliest.
SELECT first_ns, last_ns, count(*) OVER () AS all_rows
FROM captures
WHERE first_ns IS NOT NULL
ORDER BY first_ns, last_ns
LIMIT $most
