"""Donmez, Svore and Burges (2009): local optimality of LambdaRank, and which measure to train for."""
