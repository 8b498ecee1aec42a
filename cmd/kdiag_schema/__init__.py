"""Maintainers' program: message schemas inside Kafka's jars -> kdiag/wire/api and kdiag/wire/internal."""
