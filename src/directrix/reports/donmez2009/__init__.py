"""The report of the reproduction of Donmez, Svore and Burges (2009)."""

from directrix.reports.donmez2009.run import reproduce

__all__ = ["reproduce"]
