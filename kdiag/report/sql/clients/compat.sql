-- Which clients break on Kafka 4, and on which requests?
--
-- By the minima that Kafka 4 really has (KIP-896 as it was released), not by the longer list that
-- 3.x calls deprecated: Metadata, FindCoordinator, JoinGroup, SaslHandshake and DeleteGroups kept
-- version 0. Nor by what a broker advertises: 4.x still offers Produce v0 to v2, lest librdkafka
-- stop compressing, and refuses them. A broker answers such a request by closing the connection,
-- so that a client which does not ask for ApiVersions first connects again and again.
--
-- verdict: `breaks`; `unclear` if each request that is too old is the newest its broker offers, so
-- that the client may well know newer ones; `works` if none was too old. What a client did not do
-- while the capture ran is not judged.
--
-- parameter target (version) = 4.0: the release that the brokers are to have.
-- wide: asks_api_versions, requests, software_version, too_old, client_host, software
WITH minimum AS (
    SELECT *
    FROM (
        VALUES
            ('Produce', 0, 3, 40000),
            ('Fetch', 1, 4, 40000),
            ('ListOffsets', 2, 1, 40000),
            ('LeaderAndIsr', 4, 32767, 40000),
            ('StopReplica', 5, 32767, 40000),
            ('UpdateMetadata', 6, 32767, 40000),
            ('ControlledShutdown', 7, 32767, 40000),
            ('OffsetCommit', 8, 2, 40000),
            ('OffsetFetch', 9, 1, 40000),
            ('CreateTopics', 19, 2, 40000),
            ('DeleteTopics', 20, 1, 40000),
            ('OffsetForLeaderEpoch', 23, 2, 40000),
            ('WriteTxnMarkers', 27, 1, 40000),
            ('DescribeAcls', 29, 1, 40000),
            ('CreateAcls', 30, 1, 40000),
            ('DeleteAcls', 31, 1, 40000),
            ('DescribeConfigs', 32, 1, 40000),
            ('AlterReplicaLogDirs', 34, 1, 40000),
            ('DescribeLogDirs', 35, 1, 40000),
            ('CreateDelegationToken', 38, 1, 40000),
            ('RenewDelegationToken', 39, 1, 40000),
            ('ExpireDelegationToken', 40, 1, 40000),
            ('DescribeDelegationToken', 41, 1, 40000),
            ('AlterPartition', 56, 2, 40000),
            ('ShareGroupHeartbeat', 76, 1, 40001),
            ('ShareGroupDescribe', 77, 1, 40001),
            ('ShareFetch', 78, 1, 40001),
            ('ShareAcknowledge', 79, 1, 40001)
    ) AS listed(api, api_key, least_version, since)
),
offered AS (
    SELECT broker, ranges.api_key, max(ranges.max_version) AS newest_version
    FROM exchanges
    CROSS JOIN UNNEST(broker_versions) AS unnested(ranges)
    GROUP BY broker, ranges.api_key
),
used AS (
    SELECT
        e.client_host,
        e.client_id,
        c.client_software_name AS software,
        c.client_software_version AS software_version,
        e.broker,
        e.api,
        e.api_key,
        e.version,
        count(*) AS requests
    FROM exchanges AS e
    LEFT JOIN connections AS c ON c.connection_id = e.connection_id
    WHERE e.request_status IS NOT NULL AND e.api IS NOT NULL
    GROUP BY
        e.client_host,
        e.client_id,
        c.client_software_name,
        c.client_software_version,
        e.broker,
        e.api,
        e.api_key,
        e.version
),
judged AS (
    SELECT
        used.client_host,
        used.client_id,
        used.software,
        used.software_version,
        used.api,
        used.version,
        max(minimum.least_version) AS least_version,
        max(
            CASE
                WHEN minimum.api_key IS NULL THEN 0
                WHEN used.version = offered.newest_version THEN 1
                ELSE 2
            END
        ) AS severity,
        CAST(sum(used.requests) AS BIGINT) AS requests
    FROM used
    LEFT JOIN minimum
        ON minimum.api_key = used.api_key
        AND used.version < minimum.least_version
        AND minimum.since <= $target
    LEFT JOIN offered ON offered.broker = used.broker AND offered.api_key = used.api_key
    GROUP BY
        used.client_host,
        used.client_id,
        used.software,
        used.software_version,
        used.api,
        used.version
)
SELECT
    CASE max(severity) WHEN 0 THEN 'works' WHEN 1 THEN 'unclear' ELSE 'breaks' END AS verdict,
    client_host,
    client_id,
    software,
    software_version,
    CAST(sum(requests) AS BIGINT) AS requests,
    CAST(sum(CASE WHEN severity > 0 THEN requests ELSE 0 END) AS BIGINT) AS too_old,
    max(CASE WHEN api = 'ApiVersions' THEN 1 ELSE 0 END) = 1 AS asks_api_versions,
    string_agg(
        CASE
            WHEN severity = 0 THEN NULL
            WHEN least_version = 32767 THEN api || ' v' || CAST(version AS VARCHAR) || ' (gone)'
            ELSE api || ' v' || CAST(version AS VARCHAR)
                || ' (needs v' || CAST(least_version AS VARCHAR) || ')'
        END,
        ', '
        ORDER BY api, version
    ) AS too_old_requests
FROM judged
GROUP BY client_host, client_id, software, software_version
ORDER BY
    max(severity) DESC,
    client_host,
    client_id NULLS FIRST,
    software NULLS FIRST,
    software_version NULLS FIRST
