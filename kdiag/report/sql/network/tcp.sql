-- Which connections have trouble with TCP?
--
-- One row for each client address and broker, the one with the most trouble first: connections that
-- were never made (`refused`: nothing listens there; `no_answer`: a firewall, or a machine that is
-- off), that were reset, or that are cut in the capture. `again` counts segments that carried
-- nothing new: sent again, or captured twice. A client that makes many short connections
-- (`short`: less than a second, with a request) makes one for each piece of work.
-- `missing_bytes` is what the capture lacks, which is a loss of the capture rather than of TCP.
--
-- What TCP did is of both directions together: segments that were sent again (`retransmits`, those
-- by the sender's timer as `timeouts`), receive windows that were closed completely (`zero_windows`,
-- for `stalled_ms`), and how long senders waited for room in a window (`window_ms`) or for what was
-- lost (`recovery_ms`). `rtt_us` is the shortest round trip. All of it is null where the tables were
-- made without the table `tcp`.
--
-- parameter host (string) = %: only addresses of clients like this, in LIKE's notation.
-- wide: recovery_ms, window_ms, rtt_us, stalled_ms, timeouts, segments, bytes, last_seen, first_seen, longest_ms, closed_by_broker, short
WITH followed AS (
    SELECT
        client_host AS host,
        broker AS its_broker,
        CAST(sum(segments) AS BIGINT) AS segments,
        CAST(sum(retransmits) AS BIGINT) AS retransmits,
        CAST(sum(timeouts) AS BIGINT) AS timeouts,
        CAST(sum(zero_windows) AS BIGINT) AS zero_windows,
        CAST(sum(stalled_ns) AS BIGINT) // 1000000 AS stalled_ms,
        CAST(sum(window_full_ns + window_closed_ns) AS BIGINT) // 1000000 AS window_ms,
        CAST(sum(recovery_ns) AS BIGINT) // 1000000 AS recovery_ms,
        min(rtt_ns) // 1000 AS rtt_us
    FROM tcp
    GROUP BY client_host, broker
),
judged AS (
    SELECT
        client_host,
        broker,
        CASE WHEN close_reason = 'refused' THEN 1 ELSE 0 END AS is_refused,
        CASE WHEN close_reason = 'no answer' THEN 1 ELSE 0 END AS is_unheard,
        CASE WHEN close_reason = 'rst' THEN 1 ELSE 0 END AS is_reset,
        CASE WHEN closed_by = 'broker' THEN 1 ELSE 0 END AS is_closed_by_broker,
        CASE WHEN requests > 0 AND last_ns - first_ns < 1000000000
                AND close_reason IN ('fin', 'rst') THEN 1
            ELSE 0
        END AS is_short,
        duplicates,
        gap_bytes,
        request_bytes + response_bytes AS bytes,
        last_ns - first_ns AS lasted_ns,
        first_time,
        last_time
    FROM connections
    WHERE client_host LIKE $host
),
summed AS (
    SELECT
        client_host,
        broker,
        count(*) AS connections,
        CAST(sum(is_refused) AS BIGINT) AS refused,
        CAST(sum(is_unheard) AS BIGINT) AS no_answer,
        CAST(sum(is_reset) AS BIGINT) AS reset,
        CAST(sum(is_closed_by_broker) AS BIGINT) AS closed_by_broker,
        CAST(sum(is_short) AS BIGINT) AS short,
        CAST(sum(duplicates) AS BIGINT) AS again,
        CAST(sum(gap_bytes) AS BIGINT) AS missing_bytes,
        CAST(sum(bytes) AS BIGINT) AS bytes,
        max(lasted_ns) // 1000000 AS longest_ms,
        min(first_time) AS first_seen,
        max(last_time) AS last_seen
    FROM judged
    GROUP BY client_host, broker
)
SELECT
    client_host,
    broker,
    connections,
    refused,
    no_answer,
    reset,
    closed_by_broker,
    short,
    again,
    segments,
    retransmits,
    timeouts,
    zero_windows,
    stalled_ms,
    window_ms,
    recovery_ms,
    rtt_us,
    missing_bytes,
    bytes,
    longest_ms,
    first_seen,
    last_seen
FROM summed
LEFT JOIN followed ON summed.client_host = followed.host AND summed.broker = followed.its_broker
ORDER BY
    refused + no_answer + reset DESC,
    retransmits DESC NULLS LAST,
    zero_windows DESC NULLS LAST,
    again DESC,
    missing_bytes DESC,
    connections DESC,
    client_host,
    broker
