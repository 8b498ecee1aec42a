"""Checks a cluster from the outside in, for `kdiag check`.

    ConnectionAttempts    connect to many addresses at once, and time every step   `attempts`
    look_at_disks         ask for log directories, twice where one is nearly full  `disks`
    ping_late_brokers     ask again and again where a broker answered late         `pings`
    check                 all rounds of connections and requests                   `run`
    find_tiers            how much of topics is in remote storage           `tiers`

The facts go to `kdiag.diagnosis.check`, which judges them.
"""
