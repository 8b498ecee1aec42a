"""`kdiag demo`: the whole product on a lab, in seconds.

command    its help
script     the commands, one after the other, as one would type them
shell      runs them: what is printed, what runs beside, what is removed
"""
