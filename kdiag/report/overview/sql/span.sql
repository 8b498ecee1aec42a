-- What is there, and from when to when?
SELECT
    count(*) AS exchanges,
    min(time_ns) AS first_ns,
    max(greatest(
        time_ns,
        coalesce(request_last_byte_ns, 0),
        coalesce(response_last_byte_ns, 0)
    )) AS last_ns,
    count(DISTINCT connection_id) AS connections,
    count(DISTINCT broker) AS brokers,
    count(DISTINCT client_host) AS client_hosts,
    count(DISTINCT client_id) AS client_ids,
    CAST(coalesce(sum(request_bytes), 0) AS BIGINT) AS request_bytes,
    CAST(coalesce(sum(response_bytes), 0) AS BIGINT) AS response_bytes,
    count(error) AS errors,
    count(CASE WHEN status IN ('unanswered', 'partial', 'malformed', 'unmatched') THEN 1 END)
        AS out_of_order
FROM exchanges
