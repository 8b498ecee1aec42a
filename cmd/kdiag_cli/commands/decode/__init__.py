"""`kdiag decode`.

options     the options, and the selection and forms that they amount to
run         a reading of captures that prints exchanges, one exchange, counts or tables
printers    exchanges as JSON lines, one JSON document or CSV
summary     `--summary` as text
tree        one exchange: `--show` and `--explain`
"""
