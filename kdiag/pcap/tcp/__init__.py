"""One TCP connection: reassembly, and facts about each direction."""
