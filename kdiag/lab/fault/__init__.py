"""Faults as data: what goes wrong on purpose, for whom, and how often it did.

    rule             FaultRule: whom a fault concerns (FaultMatch), what happens (FaultEffect)
    fault_key        FaultKey: one key of the grammar, its values and its meaning
    grammar          `Fetch topic=orders delay=200ms p=0.1`, and the same as a mapping
    fault_file       YAML files of faults, and the JSON schema that they follow
    request_subject  RequestSubject: the topics, partitions and the group of a request
    fault_book       FaultBook: the faults that are in force, with their counters
    fault_plan       FaultPlan: all that is to go wrong with one request and its answer
    situation        Situation: faults that last, and concern other requests
    answers/         what faults do to answers, from their fields to their bytes on a connection
    fault_gate       FaultGate: by it requests come into a broker, and answers leave it
    control/         the control port, by which faults are added from outside

Everything here is about requests and answers on the wire, so that the lab's brokers and the proxy
before a real cluster have the same faults.
"""
