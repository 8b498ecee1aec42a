"""`kdiag report --html`: all that captures tell, as one page.

run              captures or tables in, the page out
sections         what the page shows of an overview, from top to bottom
kept_exchanges   the exchanges that are shown in full, and which row of a table leads to which
findings         the verdict: what went wrong, each with its evidence, and what was judged
judged           what is wrong in captures or tables, the worst first, and what was not judged
judging          captures or a folder of tables in, judged
tcp_limits       what limits the throughput of connections
"""
