-- Which clients were there, and which library were they?
SELECT
    coalesce(nullif(e.client_id, ''), e.client_host) AS client,
    coalesce(string_agg(DISTINCT
        c.client_software_name || ' ' || coalesce(c.client_software_version, ''), ', '
        ORDER BY c.client_software_name || ' ' || coalesce(c.client_software_version, '')
    ), '') AS software,
    count(*) AS exchanges
FROM exchanges AS e
LEFT JOIN connections AS c ON c.connection_id = e.connection_id
WHERE e.request_status IS NOT NULL
GROUP BY ALL
ORDER BY client
