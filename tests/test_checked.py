"""`checked(env)`: errors for people who debug, outside jit and inside."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify

import jaxgames
from tests.sixth_game import BET, KuhnEnv

ENV = KuhnEnv()
DEBUG = jaxgames.checked(ENV)
FIRST = ENV.init(jax.random.key(0), deal={"deck": [2, 0, 1]})


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_checked_env_can_be_copied(again):
    other = again(DEBUG)
    assert other == DEBUG
    assert hash(other) == hash(DEBUG)
    assert (other.id, other.num_actions) == ("kuhn", 2)
    with pytest.raises(ValueError, match="kuhn: action 7 is not legal for seat 0; legal are"):
        other.step(FIRST, 7)


def test_what_is_right_is_the_envs_own():
    after = DEBUG.step(FIRST, BET)
    assert int(after.said[0]) == BET
    np.testing.assert_array_equal(DEBUG.observe(after, 1), ENV.observe(after, 1))
    assert DEBUG.render(after, 1) == ENV.render(after, 1)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = DEBUG.no_such_thing


@pytest.mark.parametrize("call", ["view", "observe", "determinize", "render", "picture", "action_name"])
def test_a_bad_seat_is_refused_everywhere(call):
    arguments = {"determinize": (jax.random.key(0), FIRST), "action_name": (FIRST, 0)}.get(call, (FIRST,))
    with pytest.raises(ValueError, match=r"kuhn: player must be an integer in 0..1, got 2"):
        getattr(DEBUG, call)(*arguments, 2)


@pytest.mark.parametrize(
    ("call", "argument", "words"),
    [
        (lambda seat: DEBUG.view(FIRST, seat), 2, r"player must be in 0..1, got 2"),
        (lambda seat: DEBUG.observe(FIRST, seat), -1, r"player must be in 0..1, got -1"),
        (lambda seat: DEBUG.determinize(jax.random.key(1), FIRST, seat), 2, r"player must be in 0..1, got 2"),
        (lambda action: DEBUG.step(FIRST, action), 7, "action 7 is not legal"),
        (lambda action: DEBUG.step(ENV.step(FIRST, action), BET), -1, "step after the end of the game"),
    ],
)
def test_inside_jit_the_errors_are_those_of_checkify(call, argument, words):
    error, _ = jax.jit(checkify.checkify(call))(jnp.int32(argument))
    with pytest.raises(checkify.JaxRuntimeError, match=words):
        error.throw()
    error, _ = jax.jit(checkify.checkify(call))(jnp.int32(1))
    error.throw()
