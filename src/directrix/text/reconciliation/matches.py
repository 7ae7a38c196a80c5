"""Settings that give a number, and the switches between two settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from directrix.text.reconciliation.words import switch_title, value_words


@dataclass(frozen=True)
class Switch:
    """One point on which two settings differ.

    Parameters
    ----------
    name : str
        Field of the measure, or ``"ideal"``, ``"queries"``, ``"missing"``, ``"unjudged"``.
    before, after : object
        Its values.
    words : str
        Both in words.
    """

    name: str
    before: Any
    after: Any
    words: str

    @property
    def short(self) -> str:
        """Name and new value: ``ties=order``."""
        return f"{self.name}={self.after}"

    @classmethod
    def between(cls, name: str, before: Any, after: Any, symbol: str) -> Switch:
        """Make a switch, and say it in words."""
        old, new = value_words(name, before, symbol), value_words(name, after, symbol)
        return cls(name, before, after, f"{switch_title(name)}: {new} instead of {old}")

    def to_dict(self) -> dict[str, Any]:
        """Return the switch in JSON types."""
        return {"switch": self.name, "from": self.before, "to": self.after, "words": self.words}


@dataclass(frozen=True)
class SettingMatch:
    """A setting that gives the number, for all those under which every query has the same value.

    Parameters
    ----------
    value : float
        The measure under it.
    tools : tuple of str
        Tools that compute so by default; ``"directrix"`` is the measure as it was given.
    switches : tuple of Switch
        How it differs from the measure as it was given.
    nearest_tools : tuple of str
        Tools, alike by default, that differ least from it.
    from_tool : tuple of Switch
        How it differs from their default.
    n_settings : int
        Number of settings that no query of these data tells apart from it, with itself.
    free : tuple of str
        Switches that alone change nothing here.
    setting : tuple of (str, object)
        Value of every switch.
    """

    value: float
    tools: tuple[str, ...]
    switches: tuple[Switch, ...]
    nearest_tools: tuple[str, ...]
    from_tool: tuple[Switch, ...]
    n_settings: int
    free: tuple[str, ...]
    setting: tuple[tuple[str, Any], ...]

    @property
    def words(self) -> str:
        """Tools that do so by default, else the nearest tool and the switches from it."""
        if self.tools:
            return ", ".join(self.tools)
        return f"{', '.join(self.nearest_tools)} with " + "; ".join(switch.words for switch in self.from_tool)

    def to_dict(self) -> dict[str, Any]:
        """Return the setting in JSON types."""
        return {
            "value": self.value,
            "tools": list(self.tools),
            "switches": [switch.to_dict() for switch in self.switches],
            "nearest_tools": list(self.nearest_tools),
            "from_tool": [switch.to_dict() for switch in self.from_tool],
            "settings": self.n_settings,
            "no_effect": list(self.free),
            "setting": dict(self.setting),
        }


@dataclass(frozen=True)
class Between:
    """The fewest switches that lead from one number to another.

    Parameters
    ----------
    start : str
        The number to start from.
    is_exact : bool
        Whether there are settings for both numbers; else the nearest ones are compared.
    switches : tuple of Switch
    before, after : tuple of (str, object)
        The settings that give the two numbers.
    """

    start: str
    is_exact: bool
    switches: tuple[Switch, ...]
    before: tuple[tuple[str, Any], ...]
    after: tuple[tuple[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return both settings and the switches in JSON types."""
        return {
            "from": self.start,
            "exact": self.is_exact,
            "switches": [switch.to_dict() for switch in self.switches],
            "before": dict(self.before),
            "after": dict(self.after),
        }
