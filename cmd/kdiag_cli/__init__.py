"""The command-line program `kdiag`: parse, call the library, render."""
