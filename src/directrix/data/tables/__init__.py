"""Parquet and Arrow IPC files: read, open and write them."""
