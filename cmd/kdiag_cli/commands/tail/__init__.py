"""`kdiag tail`.

options         the options, and the offsets, topics and filter that they amount to
run             what is read, and how it is printed
reading         polls, prints, reports what happens
membership      the same as a member of a group, if one may join it
filter          which records are printed
printer         lines in a pipe, columns on a terminal
parquet         records as a Parquet file
line_template   lines made column by column, a whole run of records at a time
text_columns    columns of text
json_columns    columns of JSON
format_string   the columns of `-f FORMAT`
value_format    how a key or a value is written
status          the status line on stderr
"""
