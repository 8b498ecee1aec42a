"""Faults from outside: the control port of a lab or a proxy, and its client.

control_port     ControlPort: HTTP on the loopback interface
control_client   ControlClient: asks it
"""
