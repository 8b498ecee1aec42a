-- How long did brokers take, block by block?
--
-- The answers of an API are cut into blocks of equal number that follow each other.
--
-- parameter blocks (bigint) = 20: of an API, if it has enough answers.
-- parameter least (bigint) = 8: how many answers a block has at least.
WITH placed AS (
    SELECT
        api,
        latency_us,
        row_number() OVER (PARTITION BY api ORDER BY time_ns, correlation_id) - 1 AS place,
        count(*) OVER (PARTITION BY api) AS answers
    FROM exchanges
    WHERE latency_us IS NOT NULL AND api IS NOT NULL
),
blocked AS (
    SELECT
        api,
        latency_us,
        place * greatest(1, least($blocks, answers // $least)) // answers AS block
    FROM placed
)
SELECT
    api,
    block,
    count(*) AS answers,
    quantile_disc(latency_us, 0.5) AS p50_us,
    quantile_disc(latency_us, 0.9) AS p90_us
FROM blocked
GROUP BY api, block
ORDER BY api, block
