"""What captures hold, in so few rows that a page can draw them, however many exchanges there are.

overview     everything, asked of the tables
questions    the questions in SQL, for DuckDB alone: other than reports they need not run on Spark
time_bins    the stretches of time that rows are added up over
faults       what tables tell of failed connections and missing answers, as findings
groups       what they tell of groups, as histories
tcp          what they tell of TCP, as connections with facts
traffic      what they tell of clients and brokers, as findings

The questions are in the folder `sql`.
"""
