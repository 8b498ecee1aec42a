"""The commands of `kdiag`: a folder for each, with the same file names in every folder.

command     the arguments and options, as typer has them; imports nothing that `--help` can spare
options     <Command>Options: the options, validated, and what they amount to for the library
run         does it, and returns the exit code
text        the result for people
document    the result for programs, as `--output json` promises it
page        the result as an HTML page
"""
