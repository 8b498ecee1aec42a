"""Options that several commands have.

captures        captures, and how they are read: CaptureInputs
live            the cluster, and how it is reached: LiveOptions
live_command    adds the latter to a command
report          reports, and their parameters
results         findings that fail a command, headers of tables, the extra that tables need
quantities      durations, sizes, rates and moments
apis            names of APIs
completion      names that a shell completes
wrong_words     what was meant by a word that is no command, or stands in the wrong place
"""
