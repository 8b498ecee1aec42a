"""What administrators do with topics.

    create_topics               CreateTopics
    delete_topics               DeleteTopics
    create_partitions           CreatePartitions
    describe_topic_partitions   DescribeTopicPartitions: topics page by page
    elect_leaders               ElectLeaders
    alter_partition_reassignments, list_partition_reassignments
                                partitions that move to other brokers

The controller checks and changes; a handler finds the place of each error in the response.
"""
