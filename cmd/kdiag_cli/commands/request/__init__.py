"""`kdiag request`.

options     the options, and the JSON of the body
message     the request: its API, its body, the versions that can encode it
run         sends it, or shows what would be sent
reply       the reply of one broker, for people and for programs
forms       `--template` and `--fields`
"""
