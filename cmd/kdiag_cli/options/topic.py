"""What goes together of the options by which a probe is told which topic to use."""

import typer


def check_topic(topic: str | None, *, reads_only: bool, writes_to_topic: bool) -> None:
    """Check `--topic`, `--read-only` and `--write-to-topic`.

    Raises:
        typer.BadParameter: if they contradict each other.
    """
    if writes_to_topic and topic is None:
        why = "name the topic that may be written to with --topic"
        raise typer.BadParameter(why, param_hint="'--write-to-topic'")
    if writes_to_topic and reads_only:
        why = "it contradicts --write-to-topic"
        raise typer.BadParameter(why, param_hint="'--read-only'")
