"""The selector: many channels driven by one `poll`."""
