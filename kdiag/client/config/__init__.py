"""The configuration of a client: Kafka's settings, from wherever they were given.

- `load`: merges all sources into a **ClientConfig**; read it first.
- `keys`: every setting with its kind and default, and librdkafka's names for it.
- `sources`: a **Setting** and where it was given: options, variables, files.
- `profiles`, `providers`: kdiag's own file, and values that are kept elsewhere.
- `values`: settings as numbers, words, paths and secrets.
- `servers`, `tls`, `sasl`, `jaas`: what the settings say about each of these.
"""
