"""`kdiag report`, `kdiag query` and `kdiag tables`.

query, report, tables    their arguments and options
run                      the answer to one question
findings                 `kdiag report findings`: what is wrong, by rules
page                     `kdiag report --html`: all answers as one page
listing                  the reports themselves: `--list` and `--sql`
"""
