"""Findings and their rules: what each kind of problem means, and how to fix it.

* a **finding** (`finding`) is one problem with its evidence, a **rule** (`rule`) the common part of
  all findings with one id.

An id has a number that never changes its meaning, so that alerts can name it:

    KD1xxx  connections   KD10 DNS, KD11 TCP, KD12 TLS, KD13 SASL, KD14 the first requests,
                          KD15 the addresses that brokers advertise
    KD2xxx  clusters      brokers and partitions
    KD3xxx  coordinators  of groups, transactions and share partitions
    KD4xxx  clients       authorization
            traffic       KD41 how clients write, KD42 how they read, KD43 what slows them down,
                          KD44 brokers, KD45 what brokers refuse
    KD5xxx  clients       compatibility of clients and brokers; KD51 (traffic) in a capture
    KD6xxx  tcp, buffers  the limits of throughput
    KD7xxx  latency       the causes of late responses

A new finding is a new entry in one of these modules; numbers are never used twice.
"""
