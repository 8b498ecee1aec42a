"""Tables on a terminal and in a pipe.

printer     prints rows: laid out and drawn for people, with tabs for programs
delimited   CSV and TSV: the one writer of rows for programs
layout      which columns are shown, and where lines break, so that a table fits its terminal
"""
