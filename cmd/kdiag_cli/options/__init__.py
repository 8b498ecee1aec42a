"""Options that several commands have.

captures        captures, and how they are read: CaptureInputs
live            the cluster, and how it is reached: LiveOptions
live_command    adds the latter to a command
report          reports, their parameters, and the extra that they need
results         findings that fail a command; headers of tables
quantities      durations, sizes, rates and moments
apis            names of APIs
completion      names that a shell completes
"""
