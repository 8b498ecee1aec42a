-- When did no answer come from a broker for long, and which requests waited then?
--
-- A silence ends with an answer, or with the last packet of the broker's connections. A row has one
-- silence, with the requests that were sent in it and had no answer, or a late one.
-- `$served_at_once` are keys of APIs, `$unknown` reasons for which a request may have an answer,
-- `$gone` those that show that the broker ended its connections.
--
-- parameter own (string) = kdiag-%: clients whose id is like this do not count.
-- parameter least_ns (bigint) = 3000000000: how long it is silent at least.
-- parameter late_ns (bigint) = 1000000000: how long a late answer takes at least.
-- parameter most_waits (bigint) = 10000: how many requests of a silence.
-- parameter most (bigint) = 10000: how many silences, the longest.
WITH asked AS (
    SELECT *
    FROM exchanges
    WHERE request_status IS NOT NULL AND coalesce(client_id, '') NOT LIKE $own
),
-- A silence is longer than a second: so the first and the last answer of each are enough.
seconds AS (
    SELECT broker, min(response_last_byte_ns) AS from_ns, max(response_last_byte_ns) AS to_ns
    FROM asked
    WHERE response_last_byte_ns IS NOT NULL
    GROUP BY broker, response_last_byte_ns // 1000000000
    UNION ALL
    SELECT broker, max(last_ns), max(last_ns)
    FROM connections
    WHERE broker IN (SELECT broker FROM asked WHERE response_last_byte_ns IS NOT NULL)
    GROUP BY broker
),
pauses AS (
    SELECT
        broker,
        lag(to_ns) OVER (PARTITION BY broker ORDER BY from_ns, to_ns) AS first_ns,
        from_ns AS last_ns
    FROM seconds
    QUALIFY last_ns - first_ns >= $least_ns
),
waited AS (
    SELECT
        broker,
        time_ns AS asked_ns,
        list_contains($served_at_once, api_key) AS is_proof,
        coalesce(client_id, client_host) AS client,
        coalesce(list_contains($gone, unanswered_reason), false) AS is_gone,
        number AS exchange
    FROM asked
    WHERE (response_status IS NULL AND NOT list_contains($unknown, unanswered_reason))
        OR latency_us * 1000 >= $late_ns
)
SELECT
    pauses.broker,
    pauses.first_ns,
    pauses.last_ns,
    list(
        struct_pack(
            asked_ns := asked_ns, is_proof := is_proof, client := client, is_gone := is_gone,
            exchange := exchange
        )
        ORDER BY asked_ns, exchange
    )[:$most_waits] AS waits,
    count(*) OVER () AS all_rows
FROM pauses
JOIN waited
    ON waited.broker = pauses.broker
    AND waited.asked_ns > pauses.first_ns
    AND waited.asked_ns < pauses.last_ns
GROUP BY pauses.broker, pauses.first_ns, pauses.last_ns
ORDER BY pauses.last_ns - pauses.first_ns DESC, pauses.broker, pauses.first_ns
LIMIT $most
