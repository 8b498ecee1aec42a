"""Captures as inputs of Spark."""
