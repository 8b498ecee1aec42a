"""What a run of the pipeline writes."""
