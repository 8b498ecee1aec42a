"""Timers for very many tasks of which most are cancelled: hierarchical timing wheels.

    TimerTask      something to run later; it can be cancelled until then
    Bucket         the tasks that are due in one tick of a wheel
    TimingWheel    buckets for one span of time, and a coarser wheel for what is later
    SystemTimer    wheels and a clock: runs tasks when they are due
    TimerReaper    a thread that does so in the background

The lab's purgatory will hold its delayed operations on a SystemTimer: fetches, produces, joins and
heartbeats, nearly all of which are completed long before their time is up.

Source: Kafka's `org.apache.kafka.server.util.timer`; Varghese and Lauck, "Hashed and Hierarchical
Timing Wheels", 1987.
"""
