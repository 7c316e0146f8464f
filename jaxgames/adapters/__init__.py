"""Any game in the shape that another library expects. Each module needs that library (the extra `adapters`):

adapters.pgx         `adapt(env)`: an environment of pgx, jit- and vmap-able
adapters.pettingzoo  `TableEnv(env)`: turns of several agents (AEC)
adapters.gymnasium   `SeatEnv(env, opponent)`: one seat learns, the others are played for it
adapters.open_spiel  `load(env)`: a Python game of OpenSpiel
"""
