"""Exchanges as one-line summaries, for people who read many of them.

* a **line** (`line_writer`) is `request → response`, a phrase for each side;
* a **phrase** says what matters in a request or response of one API: `records`, `groups`,
  `transactions`, `administration` and `cluster` hold the phrases by API key;
* the **parts** of phrases: words for counts, sizes and lists (`phrase`), topics with their
  partitions (`topics`);
* **quantities** (`quantities`) are durations, sizes, rates, moments and zones as people write them,
  and **shown times** (`shown_time`) are moments as people read them.
"""
