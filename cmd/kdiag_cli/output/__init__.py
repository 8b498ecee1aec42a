"""How results are shown, to people on a terminal and to programs in a pipe.

terminal        the two streams: data on stdout, messages on stderr, harmless text, colours
result, answer  what live commands and questions about tables print: a table, or one document
document_forms  the same documents as lines, YAML, CSV and TSV
table, units    tables that fit a terminal, and numbers with their units
findings        what is wrong, on stderr; progress: how far work is
exchanges, tcp_text   an exchange a line, and what TCP did
json_text, markdown, drawing   JSON and Markdown for people, drawn by rich
chart, pages       charts as values; pages that need no network
"""
