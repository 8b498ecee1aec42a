-- Which clients are there, with which library, speaking what?
--
-- One row for each address, client id and library. The library is what the client called itself in
-- ApiVersions from version 3 on (KIP-511); older clients do not tell. Versions are those that were
-- used, the lowest and the highest of each API.
--
-- parameter client (string) = %: only client ids like this, in LIKE's notation.
-- wide: sasl_mechanism, last_seen, first_seen, software_version, connections, requests
-- wide: client_host
WITH asked AS (
    SELECT
        e.client_host,
        e.client_id,
        c.client_software_name AS software,
        c.client_software_version AS software_version,
        e.connection_id,
        e.api,
        e.version,
        e.time,
        e.sasl_mechanism
    FROM exchanges AS e
    LEFT JOIN connections AS c ON c.connection_id = e.connection_id
    WHERE e.request_status IS NOT NULL AND e.api IS NOT NULL
        AND coalesce(e.client_id, '') LIKE $client
),
by_api AS (
    SELECT
        client_host,
        client_id,
        software,
        software_version,
        api,
        CASE
            WHEN min(version) = max(version) THEN api || ' v' || CAST(min(version) AS VARCHAR)
            ELSE api || ' v' || CAST(min(version) AS VARCHAR) || '-v' || CAST(max(version) AS VARCHAR)
        END AS spoken
    FROM asked
    GROUP BY client_host, client_id, software, software_version, api
),
spoken AS (
    SELECT
        client_host,
        client_id,
        software,
        software_version,
        string_agg(spoken, ', ' ORDER BY spoken) AS apis
    FROM by_api
    GROUP BY client_host, client_id, software, software_version
),
seen AS (
    SELECT
        client_host,
        client_id,
        software,
        software_version,
        max(sasl_mechanism) AS sasl_mechanism,
        count(DISTINCT connection_id) AS connections,
        count(*) AS requests,
        min(time) AS first_seen,
        max(time) AS last_seen
    FROM asked
    GROUP BY client_host, client_id, software, software_version
)
SELECT
    seen.client_host,
    seen.client_id,
    seen.software,
    seen.software_version,
    seen.sasl_mechanism,
    seen.connections,
    seen.requests,
    seen.first_seen,
    seen.last_seen,
    spoken.apis
FROM seen
JOIN spoken
    ON spoken.client_host = seen.client_host
    AND spoken.client_id IS NOT DISTINCT FROM seen.client_id
    AND spoken.software IS NOT DISTINCT FROM seen.software
    AND spoken.software_version IS NOT DISTINCT FROM seen.software_version
ORDER BY
    seen.client_host,
    seen.client_id NULLS FIRST,
    seen.software NULLS FIRST,
    seen.software_version NULLS FIRST
