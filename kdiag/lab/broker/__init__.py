"""A lab: brokers that listen, and the cluster that they form.

    request_dispatch   RequestDispatch: from a frame to its handler, and back to a frame
    broker_server        BrokerServer: one broker, with its thread and its listener
    peer_channels      PeerChannels: its connections to the others
    traffic_recorder   TrafficRecorder: what clients sent and got, as a capture
    lab_cluster        LabCluster: all of them, their data, their topics; a context manager
    node_switch        NodeSwitch: brokers that are stopped and started from outside
    seed_records       records that look like something
    lab_status         LabStatus: what goes on at one moment

    with LabCluster(LabSettings(topics=(NewTopic("orders", 3),))) as lab:
        lab.bootstrap        # 127.0.0.1:39211

Source: Kafka's `KafkaApis`, `BrokerServer`, `KafkaRaftServer`.
"""
