"""Shards: a data set as Arrow files of whole queries, and questions that processes answer for them."""
