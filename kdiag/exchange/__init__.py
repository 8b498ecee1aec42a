"""Exchanges: requests with their responses, as they crossed the wire, and their forms for readers.

* a **connection**, an **exchange** and a **gap** (`model`) are values; **tcp facts** (`tcp_facts`)
  say how TCP carried them;
* a **side** (`side`) is a request or response, decoded as far as it is readable;
* a **dissection** (`dissection`) is an exchange with both sides, decoded on demand;
* **mentions** (`mentions`) are the topics, groups and errors in a message, **embedded** messages
  (`embedded`) lie inside others;
* what they tell of one another (`context`): **topic names** and **broker ids** are learnt, **fetch
  sessions** followed;
* a **selection** (`selection`) is a filter.

Forms for readers: `line` (one line), `documents` (JSON and the byte view), `summary` (counts);
`secrets` keeps passwords and tokens out of all of them. `wire` knows nothing of exchanges.
"""
