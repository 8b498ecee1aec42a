"""Latencies: where their time goes, and what makes them long.

* a **split** (`split`) is one latency in parts: client, network, broker;
* a **histogram** (`histogram`) holds many of them, **confidence** (`confidence`) bounds their
  percentiles;
* **fetch waits** (`fetch_waits`) explain how long fetches wait, **stalls** (`stalls`) are the 40
  and 200 ms of TCP's timers, **ranks** (`ranks`) decide whether a broker is slow, by few of them;
* the **findings** (`findings`) say what to change.
"""
