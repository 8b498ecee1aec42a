"""Captures as a source of rebalances: exchanges in, events of groups in order out.

exchange_events    what one exchange tells, whichever others there are
capture_events     all of it in the order of time, with what takes several exchanges

One process reads exchanges in the order of the capture, a cluster in any; both get the same events
of them, for nothing here depends on the order in which exchanges come.
"""
