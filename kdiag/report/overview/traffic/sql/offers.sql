-- Which versions do brokers offer?
--
-- The latest answer to ApiVersions counts.
--
-- parameter most (bigint) = 10000: how many APIs of brokers.
SELECT
    broker,
    ranges.api_key AS api_key,
    arg_max(ranges.max_version, time_ns) AS newest,
    count(*) OVER () AS all_rows
FROM exchanges
CROSS JOIN UNNEST(broker_versions) AS unnested(ranges)
GROUP BY broker, ranges.api_key
ORDER BY broker, ranges.api_key
LIMIT $most
