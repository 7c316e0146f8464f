"""Checks that take minutes: the properties of the test suite at full size, each with a sentence of what it found.

    python -m tests.long                                     what there is
    python -m tests.long soak skyjo --option num_players=8   any game: index checks, leaks, own masks
    python -m tests.long options                             every game as users compile it, over all players and modes
    python -m tests.long schafkopf --endgames 100
    python -m tests.long endgames --fresh 50                 the search against trying everything
    python -m tests.long table                               50 people at the page at once, 200 games

A check that finds a fault ends with a traceback.
"""
