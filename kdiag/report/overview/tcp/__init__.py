"""What tables tell of TCP: the connections that it was followed on, with their request cycles.

connections    rows of the tables `tcp` and `exchanges` as `kdiag.diagnosis.tcp` reads them

The questions are in the folder `sql`.
"""
