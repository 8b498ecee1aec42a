"""Socket buffers: how much a path carries with them, and what to set.

* the **facts** (`facts`) of a path, of both ends' settings and of each run of a proof;
* a **ceiling** (`ceiling`) is the predicted rate of a client with its defaults;
* **trials** (`trials`) sum up the runs of a proof, and choose a size for each direction;
* **bounds** (`bounds`) name what holds each direction, **findings** (`findings`) the problems, and
  **advice** (`advice`) has the lines to paste;
* the **report** (`report`) joins all of these for one broker.
"""
