"""Why groups rebalance: events in order in, rebalances with causes and evidence out."""
