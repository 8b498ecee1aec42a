"""SASL on channels: the conversation and its mechanisms."""
