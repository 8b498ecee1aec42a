-- Which versions did clients speak?
SELECT
    coalesce(nullif(client_id, ''), client_host) AS client,
    api,
    string_agg(DISTINCT CAST(version AS VARCHAR), ', ' ORDER BY CAST(version AS VARCHAR)) AS versions
FROM exchanges
WHERE request_status IS NOT NULL AND api IS NOT NULL AND version IS NOT NULL AND api <> 'ApiVersions'
GROUP BY ALL
ORDER BY client, api
