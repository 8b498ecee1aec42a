"""Secrets in exchanges: redacted in what is printed, masked in what is kept."""
