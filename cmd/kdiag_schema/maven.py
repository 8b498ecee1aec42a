"""Kafka's jars from Maven Central."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

# kafka-tools-api holds no schema, and not every release of it is on Maven Central
POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kdiag</groupId><artifactId>kafka-jars</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId>
      <version>{version}</version>
      <exclusions>
        <exclusion>
          <groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId>
        </exclusion>
      </exclusions>
    </dependency>
  </dependencies>
</project>
"""


def fetch_jars(version: str, into: Path) -> Path:
    """Copy the jars of a Kafka release, and those that they need, into a folder of its name.

    Args:
        version: the release, such as `4.4.0`.
        into: the folder for the folder of the release.

    Raises:
        FileNotFoundError: if there is no Maven.
        subprocess.CalledProcessError: if Maven fails; it has said why.
    """
    return _copy_dependencies("kafka_2.13", version, "", into / version)


def fetch_clients(version: str, into: Path) -> Path:
    """Copy the jars of a release's clients, as far as `ApiKeys` needs them; the rest as above."""
    groups = "org.apache.kafka,org.slf4j"
    return _copy_dependencies("kafka-clients", version, groups, into / version)


def _copy_dependencies(artifact: str, version: str, groups: str, target: Path) -> Path:
    """Copy a jar of Kafka, and what it needs of some groups or all, into a folder; return that."""
    maven = shutil.which("mvn")
    if maven is None:
        raise FileNotFoundError("mvn is not on the PATH: install Maven, or name folders by --jars")
    with tempfile.TemporaryDirectory() as folder:
        pom = Path(folder) / "pom.xml"
        pom.write_text(POM.format(artifact=artifact, version=version))
        command = [maven, "-q", "-B", f"-f={pom}", "dependency:copy-dependencies"]
        command += [f"-DincludeGroupIds={groups}", f"-DoutputDirectory={target.absolute()}"]
        subprocess.run(command, check=True)  # noqa: S603 - the maintainer names the version
    return target
