"""The selector: drives many channels with one `poll`.

- `selector`: the **Selector** itself, its settings, and the modes of closing a channel.
- `poller`: asks the operating system which sockets are ready, by channel id.
- `reads`, `writes`: the two sides of a poll, with the frames that it completed.
- `frame_deadlines`: which frame makes no progress, so that its connection is to be closed.
- `idle`: which connection was unused for too long.
- `metrics`: counters.
"""
