"""Scenarios: trouble that is made on purpose in a lab, and what kdiag must find of it.

scenario.py         a scenario as plain data: clients, disturbances, what must be found
scenario_file.py    reads and checks YAML, makes the JSON schema
shipped.py          the scenarios that come with kdiag, in `library/`
clients/            the clients of a scenario, each a thread or a program
lab_moments.py      waits for events of a lab
looks.py            what kdiag tells of the lab: the functions that its commands call
latency_look.py     a short measurement, and what `kdiag latency` finds in it
judgement.py        compares that with what must be found
scenario_run.py     runs one scenario
"""
