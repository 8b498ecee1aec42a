"""The tables that exchanges become: in each file the columns of a table and what makes its rows.

Column, Table    the declaration that schemas, help and rows come from    `column`
exchanges        a row for each request and its response                  `exchanges`
BodyTexts        their bodies as JSON                                     `body_texts`
batches          a row for each record batch                              `batches`
records          a row for each record, on request                        `batches`
connections      a row for each TCP connection                            `connections`
gaps             a row for each hole in the capture                       `connections`
not_understood   a row for bytes that are here and no frame               `connections`
latency_minutes  a row for each minute, client, API and about the same latency   `latency_minutes`
rebalances       a row for each change of generation or epoch of a group  `groups`
members          a row for each member of a group                         `groups`
TABLES           all of them, and the choice among them                   `catalog`
"""
