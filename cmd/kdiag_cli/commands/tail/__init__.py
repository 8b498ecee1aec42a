"""`kdiag tail`.

options         the options, and the offsets, topics and filter that they amount to
run             polls, prints, reports what happens
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
