"""The rules: what each kind of finding means and what to do about it.

Each has a number that never changes its meaning, so that alerts can name it:

    KD1xxx  a connection: KD10 DNS, KD11 TCP, KD12 TLS, KD13 SASL, KD14 the first words of Kafka's
            protocol, KD15 the addresses that brokers advertise
    KD2xxx  the cluster's state: brokers and partitions
    KD3xxx  coordinators and groups
    KD4xxx  authorization
    KD5xxx  compatibility of clients and brokers
    KD6xxx  TCP: what keeps bytes from going faster
    KD7xxx  latency: what makes answers come late

Who raises a finding adds its line; numbers are never given twice.
"""
