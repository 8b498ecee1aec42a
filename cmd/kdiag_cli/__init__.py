"""The command-line program `kdiag`: it parses, calls the library, and prints.

app             the table of commands; a module is imported when its command runs
lazy_command    how that works
commands        a folder for each command: command, options, run, text, document, page
captures        commands that read captures: their inputs, one reading, its tables
live            commands that ask a cluster: time limit, session, `--to`, `--trace`
options         options that several commands have, and the grammar of their values
output          how everything is written: terminal, tables, lines, documents, charts, pages
exit_code       the exit codes, and which one counts
interruption    Ctrl-C between two pieces of output, not amid one
help            the topics of `kdiag help`, a file of Markdown for each

Arrows point down this list, from app to exit_code; commands know nothing of one another.
"""
