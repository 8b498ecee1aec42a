"""`kdiag tune-buffers`.

options         the options, for brokers and for captures
run             measures the paths to brokers, and proves what helps
text            the tables and sentences
document        the document
page            the page
captures        what limits the connections of captures
captures_text   the same, for people and for programs
"""
