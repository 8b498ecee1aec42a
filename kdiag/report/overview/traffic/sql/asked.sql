-- How many requests were answered, of the APIs of which a client had an error?
SELECT client_host, client_id, api_key, count(*) AS asked
FROM exchanges
WHERE api_key IS NOT NULL AND request_status IS NOT NULL AND response_status IS NOT NULL
GROUP BY client_host, client_id, api_key
HAVING count(error) > 0
