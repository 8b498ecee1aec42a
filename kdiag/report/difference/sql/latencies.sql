-- How long did brokers take altogether?
SELECT
    api,
    count(*) AS answers,
    quantile_disc(latency_us, 0.5) AS p50_us,
    quantile_disc(latency_us, 0.9) AS p90_us,
    quantile_disc(latency_us, 0.99) AS p99_us
FROM exchanges
WHERE latency_us IS NOT NULL AND api IS NOT NULL
GROUP BY api
ORDER BY api
