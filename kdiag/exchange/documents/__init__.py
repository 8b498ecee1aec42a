"""Exchanges as documents for programs: JSON, and the view of every byte."""
