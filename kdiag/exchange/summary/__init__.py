"""What a capture holds, counted."""
