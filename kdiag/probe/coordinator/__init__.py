"""Asks brokers who coordinates groups, transactions and share groups."""
