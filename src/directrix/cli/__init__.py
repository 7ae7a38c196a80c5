"""The directrix command."""
