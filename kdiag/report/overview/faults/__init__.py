"""What tables tell of connections that failed and requests that brokers left without an answer.

judgement    counts by SQL, told by `kdiag.diagnosis.recorded_faults`

The question is in the folder `sql`.
"""
