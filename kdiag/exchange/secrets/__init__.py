"""Secrets in exchanges: which fields hold them, and how they are kept out of every output.

* **redaction** replaces secrets in decoded bodies and spans, for everything that is printed;
* **harmless configs** are the settings that it leaves, as Kafka itself knows them;
* **login** hides what may be a part of a login, by the state of the connection;
* the **user** in a token (`sasl_user`) is no secret;
* **masking** overwrites them in the bytes of frames, for captures that are written;
* **new_file** opens files in the place of others, for their owner alone if they hold secrets.
"""
