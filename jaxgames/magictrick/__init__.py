"""Magic Trick: trick-taking for four in which nobody sees a value, not even of the own cards."""
