"""The experiments of Qin, Liu and Li (2010), section 6, on the collections of LETOR that are there."""
