"""Record batches of every format, their codecs, and the records inside."""
