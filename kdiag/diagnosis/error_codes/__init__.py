"""Kafka's errors in an operator's words: the causes of each, and the remedy.

* a **known error** (`known_error`) is an error with its advice;
* the **catalog** (`catalog`) has all of them by name: the advice by subject is in `records`,
  `groups`, `transactions`, `security`, `cluster` and `quorum`, the errors that librdkafka makes up
  are in `librdkafka`;
* the **search** (`search`) leads from a number, a name, an exception or a part of one to errors.
"""
