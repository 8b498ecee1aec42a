"""What a client asks of a cluster before anything else: what it speaks, who is in it, who leads.

    api_versions        ApiVersions: which APIs and versions there are
    metadata            Metadata: brokers, topics, partitions and their leaders
    describe_cluster    DescribeCluster: the brokers, for administrators
    operations          what a client may do, where it asks for that

Each opens with its behaviour, what versions changed, and what it leaves out.
"""
