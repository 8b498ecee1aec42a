-- What did brokers refuse to each client, by partition, and which of it succeeded?
--
-- A row without an error counts successes; they come last, and only those of what was refused, too.
-- `requests` counts each request once for an error and a topic, `of_error` once for an error.
--
-- parameter own (string) = kdiag-%: clients whose id is like this do not count.
-- parameter bucket_ns (bigint) = 250000000: how exactly it is known when something happened.
-- parameter most_times (bigint) = 2000: how many times of each row.
WITH answered AS (
    SELECT
        time_ns, number, broker, client_host, client_id, api_key, error, outcomes,
        CASE
            WHEN len(groups) = 1 THEN struct_pack(name := groups[1], kind := 'group')
            WHEN len(transactional_ids) = 1
                THEN struct_pack(name := transactional_ids[1], kind := 'transaction')
            ELSE struct_pack(name := broker, kind := 'broker')
        END AS about
    FROM exchanges
    WHERE api_key IS NOT NULL
        AND request_status IS NOT NULL
        AND response_status = 'ok'
        AND coalesce(client_id, '') NOT LIKE $own
),
hindered AS (
    SELECT DISTINCT client_host, client_id, api_key FROM answered WHERE error IS NOT NULL
),
parts AS (
    SELECT
        answered.*,
        unnest(outcomes) AS part,
        generate_subscripts(outcomes, 1) AS place,
        [struct_pack(error := x.error, topic := x.topic) FOR x IN outcomes] AS of_topics,
        [x.error FOR x IN outcomes] AS errors
    FROM answered
    SEMI JOIN hindered
        ON hindered.client_host = answered.client_host
        AND hindered.client_id IS NOT DISTINCT FROM answered.client_id
        AND hindered.api_key = answered.api_key
),
counted AS (
    SELECT
        client_host, client_id, api_key, broker, part.error AS error,
        CASE
            WHEN part.topic <> '' THEN struct_pack(name := part.topic, kind := 'topic') ELSE about
        END AS subject,
        part.partition AS partition,
        time_ns // $bucket_ns AS bucket,
        count(*) AS "count",
        count(CASE
            WHEN place = list_position(
                of_topics, struct_pack(error := part.error, topic := part.topic)
            ) THEN 1
        END) AS requests,
        count(CASE WHEN place = list_position(errors, part.error) THEN 1 END) AS of_error,
        min(time_ns) AS from_ns,
        max(time_ns) AS to_ns,
        arg_min(number, time_ns) AS example
    FROM parts
    GROUP BY client_host, client_id, api_key, broker, part.error, subject, part.partition, bucket
),
gathered AS (
    SELECT
        client_host, client_id, api_key, broker, error, subject, partition,
        CAST(sum("count") AS BIGINT) AS "count",
        CAST(sum(requests) AS BIGINT) AS requests,
        CAST(sum(of_error) AS BIGINT) AS of_error,
        min(from_ns) AS first_ns,
        max(to_ns) AS last_ns,
        arg_min(example, from_ns) AS example,
        list(from_ns ORDER BY from_ns)[:$most_times] AS from_times_ns,
        list(to_ns ORDER BY to_ns)[:$most_times] AS to_times_ns
    FROM counted
    GROUP BY client_host, client_id, api_key, broker, error, subject, partition
),
refused AS (
    SELECT DISTINCT client_host, client_id, api_key, subject, partition
    FROM gathered
    WHERE error IS NOT NULL
)
SELECT
    gathered.* EXCLUDE (subject),
    subject.name AS about,
    subject.kind AS kind
FROM gathered
SEMI JOIN refused
    ON refused.client_host = gathered.client_host
    AND refused.client_id IS NOT DISTINCT FROM gathered.client_id
    AND refused.api_key = gathered.api_key
    AND refused.subject = gathered.subject
    AND refused.partition IS NOT DISTINCT FROM gathered.partition
ORDER BY error IS NULL, first_ns, example, broker, about, partition NULLS FIRST, error
