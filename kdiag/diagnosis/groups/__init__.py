"""Groups as they are at a moment: members, offsets, lag, and what is wrong with them."""
