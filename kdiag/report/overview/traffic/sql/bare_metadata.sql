-- How many Metadata responses are without their bodies, though they could be read?
SELECT count(*) AS responses
FROM exchanges
WHERE api = 'Metadata' AND response_status = 'ok' AND response_body IS NULL
