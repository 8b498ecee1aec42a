"""Maintainers' program: the schemas inside Kafka's jars -> kdiag/wire/api and wire/internal."""
