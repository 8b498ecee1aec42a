"""Record batches of every format, their codecs, and the records in them.

* a **batch** (`batches`, `batch`) is a header; its records are read on demand;
* a **record** (`record`) is offset, timestamp, key, value and headers;
* **readers** of magic 2: all records (`body`), columns of numpy (`columns`), values alone
  (`values`); a **message set** (`message_set`) is the format of magic 0 and 1;
* the **writer** (`writer`) makes batches, **compression** (`compression`) has the codecs;
* **internal records** (`internal`) are messages: those of Kafka's own topics and logs.
"""
