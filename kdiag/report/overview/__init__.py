"""What captures hold, in so few rows that a page can draw them, however many exchanges there are.

overview     everything, asked of the tables
questions    the questions in SQL, for DuckDB alone: other than reports they need not run on Spark
time_bins    the stretches of time that rows are added up over
traffic      what tables tell of clients and brokers, as findings

The questions are in the folder `sql`.
"""
