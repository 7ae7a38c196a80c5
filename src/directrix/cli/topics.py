"""Topics by name on the command line: numbers and ranges, a list in a file, or those of a data file."""

from __future__ import annotations

from pathlib import Path

from directrix.errors import InputError

__all__ = ["TOPICS_HELP", "positions_of"]

TOPICS_HELP = "numbers and ranges (351,353-360), @FILE with one a word, or a LETOR file, whose queries count"


def positions_of(text: str, topics: tuple[str, ...], option: str) -> list[int]:
    """Positions of the topics that a text names, ascending.

    Of a range those that exist count; every other topic that is named must exist.

    Raises
    ------
    InputError
        If one does not, or none is named, or a file cannot be read.
    """
    place = {topic: position for position, topic in enumerate(topics)}
    found, missing = set(), []
    for word in _words(text):
        if word in place:
            found.add(place[word])
            continue
        low, dash, high = word.partition("-")
        if dash and low.isdecimal() and high.isdecimal():
            found |= {
                place[topic] for topic in place if topic.isdecimal() and int(low) <= int(topic) <= int(high)
            }
        else:
            missing.append(word)
    if missing or not found:
        what = f"there is no topic {', '.join(missing[:5])}" if missing else "no topic is named"
        raise InputError(
            f"{option} {text}: {what}; there are {len(topics)}, {topics[0]} to {topics[-1]}, that runs and "
            f"judgements share. Give {TOPICS_HELP}."
        )
    return sorted(found)


def _words(text: str) -> list[str]:
    if text.startswith("@"):
        from directrix.data.files import open_data, readable

        path = Path(text[1:])
        with readable(path), open_data(path) as file:
            return [word for line in file for word in line.decode("utf-8", "backslashreplace").split()]
    if Path(text).is_file():
        from directrix.data.formats import read_file

        return [str(query) for query in read_file(Path(text)).query_ids]
    return text.replace(",", " ").split()
