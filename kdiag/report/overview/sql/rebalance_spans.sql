-- Which rebalances were there, and what did each member do when?
--
-- parameter most (bigint) = 300: how many there are at most, those that took longest.
SELECT
    group_id,
    type,
    generation,
    time_ns,
    started_ns,
    ended_ns,
    duration_ns,
    cause,
    client_id,
    packet,
    phases,
    count(*) OVER () AS all_rows
FROM rebalances
ORDER BY duration_ns DESC NULLS LAST, time_ns, group_id, generation
LIMIT $most
