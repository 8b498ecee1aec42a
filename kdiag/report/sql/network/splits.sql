-- How did TCP split and coalesce the frames?
--
-- One row for each API and direction. A frame is split when several segments carry it, and shares
-- a segment when other frames have bytes in the segment it begins in. Where the network card cuts
-- or joins segments (TSO, GRO), the capture shows what the kernel saw, not the wire.
--
-- parameter api (string) = %: only APIs like this, in LIKE's notation.
-- wide: most_others, largest_frame_bytes, most_segments, bytes_per_frame, bytes
WITH frames AS (
    SELECT
        api,
        'request' AS direction,
        request_bytes AS bytes,
        request_segments AS segments,
        request_starts_in_segment_with AS others
    FROM exchanges
    WHERE request_bytes IS NOT NULL
    UNION ALL
    SELECT
        api,
        'response' AS direction,
        response_bytes AS bytes,
        response_segments AS segments,
        response_starts_in_segment_with AS others
    FROM exchanges
    WHERE response_bytes IS NOT NULL
)
SELECT
    api,
    direction,
    count(*) AS frames,
    CAST(sum(bytes) AS BIGINT) AS bytes,
    CAST(sum(bytes) AS BIGINT) // count(*) AS bytes_per_frame,
    max(bytes) AS largest_frame_bytes,
    CAST(sum(CASE WHEN segments > 1 THEN 1 ELSE 0 END) AS BIGINT) AS split_frames,
    max(segments) AS most_segments,
    CAST(sum(CASE WHEN others > 0 THEN 1 ELSE 0 END) AS BIGINT) AS sharing_frames,
    max(others) AS most_others
FROM frames
WHERE coalesce(api, '') LIKE $api
GROUP BY api, direction
ORDER BY api NULLS FIRST, direction
