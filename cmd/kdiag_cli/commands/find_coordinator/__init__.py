"""`kdiag find-coordinator`.

options     the options, and the keys to look for
run         asks once
watch       asks again and again, and prints what changes
moves       shows how all groups spread over the brokers
text        coordinators, for people and for programs
"""
