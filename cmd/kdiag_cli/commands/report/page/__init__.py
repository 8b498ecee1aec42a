"""`kdiag report --html`: all that captures tell, as one page.

run              captures or tables in, the page out
sections         what the page shows of an overview, from top to bottom
kept_exchanges   the exchanges that are shown in full, and which row of a table leads to which
findings         what was found, those of one rule together
observed         what captures tell beside their tables: findings, and the limits of TCP
"""
