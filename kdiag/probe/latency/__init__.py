"""Measures latencies of writes, reads and commits, for `kdiag latency`.

LatencyPlan       which latencies, by which records                     `plan`
LatencyTarget     the topic, and the brokers that lead its partitions   `plan`, `target`
OpenLoopSchedule  when each request is due, whatever the answers do     `schedule`
ScheduledLoad     the requests on the schedule: Produce, or Fetch       `load`, `messages`
LatencyConsumer   reads the records as they arrive                      `consumer`
Committing        commits their offsets, one at a time                  `commit`
RecordTimings     when each record was written and read                 `record_timings`
OwnConnection     a connection for one kind of request                  `connection`
FetchSweep        fetches with several settings, side by side           `sweep`
LatencyResults    latencies, errors and warnings so far                 `results`
measure           all of it                                             `measure`
"""
