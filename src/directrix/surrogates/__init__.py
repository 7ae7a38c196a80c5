"""Smooth stand-ins for measures."""
