"""An archive of the classes that a broker loads, with which it starts in less than two thirds.

Run as a program, it makes the archive, below `.kafka/` (ignored by git), as `.ci/run` does:

    PYTHONPATH=tests/rig python -m real_kafka.class_archive

Brokers and tools of this release use it if it is there. It serves the Java and the jars that it
was made with; with others Java ignores it. Other releases start too rarely to be worth it.
"""

import tempfile
from pathlib import Path

from real_kafka import kafka_jars
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import USUAL


def main() -> None:
    """Make the archive: Java writes it when the broker ends as it should."""
    archive = kafka_jars.class_archive(kafka_jars.jars(USUAL))
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".make-") as scratch:
        made = Path(scratch) / archive.name

        class RecordedCluster(KafkaCluster):
            """A broker whose Java notes which classes it loads."""

            jvm_options = (f"-XX:ArchiveClassesAtExit={made}", "-Xlog:disable", "-Xlog:all=off")

        with RecordedCluster(USUAL, Path(scratch)) as cluster:
            cluster.shut_down(1)
        made.rename(archive)


if __name__ == "__main__":
    main()
