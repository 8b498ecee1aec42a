"""The pytest plugin: a lab for each test, for projects that use any Kafka client.

    kafka_lab        KafkaLab: a lab whose faults, traffic and clock a test has in hand
    pytest_plugin    the fixtures `kafka_lab` and `kafka_lab_session`, and what a failed test shows

`pip install 'kdiag[pytest]'` has pytest find it by itself.
"""
