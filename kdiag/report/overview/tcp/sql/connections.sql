-- What did TCP do on each connection, and how large were its requests and responses?
--
-- Two rows for each connection, one for each direction.
--
-- parameter until_ns (bigint) = 0: only those that ended before; 0 for all.
-- parameter most (bigint) = 10000: how many there are at most, those with the most bytes.
WITH followed AS (
    SELECT connection_id
    FROM tcp
    WHERE $until_ns = 0 OR last_ns < $until_ns
    GROUP BY connection_id
    ORDER BY sum(bytes) DESC, connection_id
    LIMIT $most
),
frames AS (
    SELECT
        connection_id,
        number,
        api_key,
        nullif(client_id, '') AS client_id,
        request_first_byte_ns,
        response_last_byte_ns,
        CAST(request_bytes + 4 AS HUGEINT) AS request_size,
        CAST(response_bytes + 4 AS HUGEINT) AS response_size,
        CASE
            WHEN response_first_byte_ns >= request_last_byte_ns
            THEN response_first_byte_ns - request_last_byte_ns
        END AS latency_ns,
        greatest(0, response_last_byte_ns - request_first_byte_ns) AS pending_ns
    FROM exchanges
    WHERE connection_id IN (FROM followed)
),
of_apis AS (
    SELECT
        connection_id,
        api_key,
        min(number) AS first_number,
        count(request_size) AS request_count,
        sum(request_size) AS request_bytes,
        sum(request_size * request_size) AS request_squares,
        sum(request_size * latency_ns) AS request_products,
        sum(request_size) FILTER (WHERE latency_ns IS NOT NULL) AS request_answered,
        count(response_size) AS response_count,
        sum(response_size) AS response_bytes,
        sum(response_size * response_size) AS response_squares,
        sum(response_size * latency_ns) AS response_products,
        sum(response_size) FILTER (WHERE latency_ns IS NOT NULL) AS response_answered,
        sum(pending_ns) FILTER (WHERE request_size IS NOT NULL AND response_size IS NOT NULL)
            AS pending_ns,
        min(request_first_byte_ns) AS first_ns,
        max(response_last_byte_ns) AS last_ns
    FROM frames
    GROUP BY connection_id, api_key
),
names AS (
    SELECT connection_id, arg_min(client_id, number) AS client_id
    FROM frames
    WHERE client_id IS NOT NULL
    GROUP BY connection_id
),
cycles AS (
    SELECT connection_id, list(of_apis ORDER BY first_number) AS apis
    FROM of_apis
    GROUP BY connection_id
)
SELECT tcp.*, names.client_id, cycles.apis
FROM tcp
LEFT JOIN names ON names.connection_id = tcp.connection_id
LEFT JOIN cycles ON cycles.connection_id = tcp.connection_id
WHERE tcp.connection_id IN (FROM followed)
ORDER BY tcp.connection_id, tcp.direction
