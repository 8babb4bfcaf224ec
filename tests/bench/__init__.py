"""Speed beside plain rows and a peer, measured in the same run: ``make bench``."""
