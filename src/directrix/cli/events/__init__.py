"""Make labeled queries from what users viewed and bought."""
