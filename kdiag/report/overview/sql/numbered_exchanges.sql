-- Which exchanges have these numbers?
--
-- With the columns of `kept_exchanges`. `$numbers` is a list of them; a number counts within one run.
--
-- parameter most (bigint) = 60: how many.
-- parameter most_letters (bigint) = 200000: how much of a body.
SELECT
    e.number, e.time, e.connection, e.client, e.client_host, e.broker, e.client_id, e.api,
    e.version, e.correlation_id, e.status, e.latency_us, e.transfer_us, e.error, e.topics, e.groups,
    e.request_bytes, e.response_bytes, e.request_first_packet, e.request_last_packet,
    e.response_first_packet, e.response_last_packet, e.request_segments, e.response_segments,
    e.unanswered_reason,
    'named' AS reasons,
    left(e.request_body, $most_letters) AS request_body,
    left(e.response_body, $most_letters) AS response_body,
    length(e.request_body) > $most_letters AS request_is_cut,
    length(e.response_body) > $most_letters AS response_is_cut
FROM exchanges AS e
WHERE list_contains($numbers, e.number)
ORDER BY e.time_ns, e.number
LIMIT $most
