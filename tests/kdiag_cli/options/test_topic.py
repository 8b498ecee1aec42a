import pytest
import typer

from kdiag_cli.options.topic import check_topic


def test_what_is_said_about_topics_goes_together() -> None:
    """A topic to be written to is named, and is not only to be read."""
    check_topic(None, reads_only=True, writes_to_topic=False)
    check_topic("orders", reads_only=False, writes_to_topic=True)
    for topic, reads_only in ((None, False), ("orders", True)):
        with pytest.raises(typer.BadParameter):
            check_topic(topic, reads_only=reads_only, writes_to_topic=True)
