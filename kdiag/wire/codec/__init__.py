"""Messages from bytes and back: compiled for each version, and slow readers that explain.

* **decode**, **encode** (`messages`): the functions that everybody calls;
* the **decoder** and **encoder** (`decoder`, `encoder`) are Python source, written line by line
  (`source`) from the **layout** of a class in a version (`layout`);
* **explain** (`explain`) reads slowly and names the place of every byte and of every fault;
  **encode check** (`encode_check`) finds the value that cannot be written;
* the **JSON form** (`json_form`) is Kafka's own; a **template** (`template`) is a form to fill in.
"""
