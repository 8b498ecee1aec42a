"""Two captures compared by their tables.

measured      what is asked of the tables of each
comparison    what differs, and whether that is more than noise

The questions are in the folder `sql`.
"""
