"""Reading, opening and writing of Parquet and Arrow IPC files."""
