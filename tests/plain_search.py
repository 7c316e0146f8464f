"""Searches in plain Python, slow and short: what those of agents/search are compared with."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from agents.search import playout, tree


@functools.cache
def programs(env):
    """`step`, `legal_action_mask`, and the payoff of a search."""
    return jax.jit(env.step), jax.jit(env.legal_action_mask), jax.jit(playout.points(env))


def uct(env, begin, key, simulations, exploration):
    """{action: visits} after so many simulations of SC-58, each in the world `begin(key)` of its own key."""
    step, mask, payoff = programs(env)
    legal = lambda state: np.flatnonzero(mask(state)).tolist()  # noqa: E731
    pick = lambda options, word: options[int((word >> 8) / 2**24 * len(options))]  # noqa: E731
    new_node = lambda: {"visits": 0, "total": np.zeros(env.num_players, np.float32), "children": {}}  # noqa: E731
    top = new_node()
    for sim_key in jax.random.split(key, simulations):
        root = state = begin(sim_key)
        path, turn = [top], 0
        while not state.done:
            options, node = legal(state), path[-1]
            untried = [action for action in options if action not in node["children"]]
            if untried:
                action = pick(untried, word_of(sim_key, tree.FIRST_DESCENT + turn))
                node["children"][action] = new_node()
            else:
                mover, log = int(state.current_player), np.log(node["visits"])
                scores = {
                    a: child["total"][mover] / child["visits"] + exploration * np.sqrt(2 * log / child["visits"])
                    for a, child in node["children"].items()
                    if a in options
                }
                action = max(scores, key=scores.get)  # the first of equals
            path.append(node["children"][action])
            state, turn = step(state, action), turn + 1
            if untried:
                break
        number = 0
        while not state.done:
            state, number = step(state, pick(legal(state), word_of(sim_key, number))), number + 1
        for node in path:
            node["visits"] += 1
            node["total"] = node["total"] + np.asarray(payoff(root, state))
    return {action: child["visits"] for action, child in top["children"].items()}


def word_of(key, number):
    return int(playout.random_word(key, jnp.uint32(number)))


def puct(root, look, play, simulations, exploration):
    """{choice: (visits, total [seat])} at the root after so many simulations that a network guides.

    `look(state)` is (player to move, is over, policy [choice], value of every seat [seat]), `play(state, choice)` is
    (next state, paid [seat]); every choice is legal.
    """
    seats = len(look(root)[3])

    def new_node(state):
        return {"visits": 0, "total": np.zeros(seats), "prior": look(state)[2], "children": {}}

    top = new_node(root)
    nodes = [top]
    for _ in range(simulations):
        means = [each["total"] / each["visits"] for each in nodes if each["visits"]]
        low, high = (np.min(means), np.max(means)) if means else (0.0, 0.0)

        def scaled(node, seat, low=low, high=high):
            mean = node["total"][seat] / max(node["visits"], 1)
            return (mean - low) / max(high - low, 1e-6) if node["visits"] else 0.5

        state, path, earned, is_new = root, [top], np.zeros(seats), False
        while not look(state)[1] and not is_new:
            node, mover = path[-1], look(state)[0]
            prior = (node["prior"] + 1e-3) / (node["prior"] + 1e-3).sum()
            reach = exploration * np.sqrt(max(node["visits"], 1))
            bounds = {c: scaled(n, mover) + reach * prior[c] / (1 + n["visits"]) for c, n in node["children"].items()}
            hopes = {c: scaled(node, mover) + reach * prior[c] for c in range(len(prior)) if c not in bounds}
            choice = max(bounds, key=bounds.get, default=None)
            hope = max(hopes, key=hopes.get, default=None)
            is_new = choice is None or (hope is not None and hopes[hope] > bounds[choice])
            choice = hope if is_new else choice
            state, paid = play(state, choice)
            earned = earned + paid
            if is_new:
                node["children"][choice] = new_node(state)
                nodes.append(node["children"][choice])
            path.append(node["children"][choice])
        payoff = earned + (0 if look(state)[1] else look(state)[3])
        for node in path:
            node["visits"] += 1
            node["total"] = node["total"] + payoff
    return {choice: (node["visits"], node["total"]) for choice, node in top["children"].items()}
