"""Topics on the command line: numbers and ranges, a list in a file, or the queries of a data file."""

from __future__ import annotations

from pathlib import Path

from directrix.data.files import open_data, readable
from directrix.data.formats import read_file
from directrix.errors import InputError

TOPICS_HELP = (
    "numbers and ranges (351,353-360), @FILE with a list of topics, or a LETOR file with these queries"
)


def positions_of(text: str, topics: tuple[str, ...], option: str) -> list[int]:
    """Return the positions of the topics that a text names, ascending.

    A range may contain topics that do not exist. Raises `InputError` if any other topic does not exist, no
    topic is named, or a file cannot be read.
    """
    position = {topic: i for i, topic in enumerate(topics)}
    chosen, missing = set(), []
    for word in _words(text):
        if word in position:
            chosen.add(position[word])
            continue
        low, dash, high = word.partition("-")
        if dash and low.isdecimal() and high.isdecimal():
            chosen |= {
                i
                for topic, i in position.items()
                if topic.isdecimal() and int(low) <= int(topic) <= int(high)
            }
        else:
            missing.append(word)
    if missing or not chosen:
        problem = f"there is no topic {', '.join(missing[:5])}" if missing else "no topic is named"
        raise InputError(
            f"{option} {text}: {problem}; runs and qrels share {len(topics)} topics, {topics[0]} to "
            f"{topics[-1]}. Give {TOPICS_HELP}."
        )
    return sorted(chosen)


def _words(text: str) -> list[str]:
    if text.startswith("@"):
        path = Path(text[1:])
        with readable(path), open_data(path) as file:
            return [word for line in file for word in line.decode("utf-8", "backslashreplace").split()]
    if Path(text).is_file():
        return [str(query) for query in read_file(Path(text)).query_ids]
    return text.replace(",", " ").split()
