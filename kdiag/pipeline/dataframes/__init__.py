"""The tables of captures as DataFrames, made when they are asked for.

plan      the frames of captures, found and staged once; all tables are read from them
source    the reader of a table, for `spark.read.format("kdiag")`
"""
