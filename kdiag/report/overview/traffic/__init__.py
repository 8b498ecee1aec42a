"""What tables tell of clients and brokers, as findings.

judgement    counts by SQL, judged by `kdiag.diagnosis.traffic`

The questions are in the folder `sql`.
"""
