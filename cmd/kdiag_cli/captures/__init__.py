"""Everything that commands share that read captures.

source      the inputs, opened: captures or an interface, key logs, names of topic ids
reading     one reading of them, with its totals and its exit code
account     what became of every packet of it
pipeline    what happens to an exchange on its way: followed, chosen, named
printer     what receives exchanges, gaps and connections
extract     the packets of chosen connections, written into a capture
more        the command that prints the exchanges behind a finding
tables      a reading whose printer writes tables as Parquet
"""
