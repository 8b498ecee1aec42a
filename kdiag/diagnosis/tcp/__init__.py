"""The limit of a recorded connection's throughput, from the facts of TCP and its exchanges.

* **request cycles** (`request_cycles`) sum up sizes and times of the exchanges of a connection;
* the **limit** (`limit`) of each direction is sender, receiver, network or program;
* the **findings** (`findings`) say what to change.
"""
