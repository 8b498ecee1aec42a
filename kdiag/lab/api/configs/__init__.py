"""What administrators do with settings.

    describe_configs            DescribeConfigs
    alter_configs               AlterConfigs: all settings of a topic at once
    incremental_alter_configs   IncrementalAlterConfigs: one by one
    described_configs           settings as responses have them: values, defaults and their sources

Topics have settings that can be changed. Those of a broker are told, and cannot: a lab is started
with them.
"""
