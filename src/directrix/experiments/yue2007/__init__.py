"""The experiment of Yue, Finley, Radlinski and Joachims (2007), sections 4 and 5, on the runs of TREC-7."""
