"""Shards: a data set as Arrow files of whole queries, and requests that processes compute on them."""
