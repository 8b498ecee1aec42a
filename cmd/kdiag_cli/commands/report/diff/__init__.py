"""`kdiag diff`: two captures, or folders of tables, compared.

command    its arguments and options
run        captures or tables in, the comparison out
rows       a comparison as rows for people, the differences first
document   a comparison for programs
page       a comparison as a page with charts
"""
