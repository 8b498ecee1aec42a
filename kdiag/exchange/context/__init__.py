"""What exchanges tell of one another: names of topics, node ids of brokers, sessions of fetches."""
