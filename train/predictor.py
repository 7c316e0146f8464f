"""Who holds what? A network learns it from games of Schafkopf, for HP-PIMC to draw its worlds by (SC-59).

    python train/predictor.py --run runs/hands                            # games of the rule-based player
    python train/predictor.py --agent ppo:schafkopf --games 4000 --epochs 2 --minibatch 100
    python train/predictor.py --agent hp:30,120 --width 512 --target all  # the published loop: it plays with itself
    python train/predictor.py --resume runs/hands
    python train/publish.py runs/hands schafkopf_hands                    # now `hp:10,40` is an agent

A round plays games, takes every decision in them as a question where the unseen cards are, and learns for some epochs.
On games of its own it is then measured against two who know nothing but numbers or rules: the loss in nats of a card
by the number of cards in each hand, and by the mean of all legal worlds.
"""

import dataclasses
import functools
import pathlib
import sys
from collections.abc import Callable
from typing import Literal, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax

import agents
import jaxgames
from agents import networks
from agents.networks import Params, hands
from agents.networks.hands import NOBODY, PLACES, HandsModel
from agents.predict import load_hands
from jaxgames import Env
from jaxgames.options import UserError
from jaxgames.schafkopf import State
from jaxgames.schafkopf.cards import NUM_SEATS, unpack
from jaxgames.schafkopf.determinize import LEAST_WEIGHT
from jaxgames.schafkopf.state import gone
from jaxgames.tricks import seats_from
from train import pins, studies
from train.folders import Folder, write_whole
from train.matches import mean_and_error
from train.studies import Student, StudyConfig

HELD_OUT = 1  # added to the seed: games that are never learned from


@dataclasses.dataclass(frozen=True)
class Config(StudyConfig):
    """Everything that can be set on the command line."""

    agent: str = "rule"
    """who plays the games; hp:<worlds>,<simulations> without a network plays by what has been learned so far"""
    rounds: int = 50
    """of play and study"""
    games: int = 400
    """in a round"""
    epochs: int = 16
    """passes over the games of a round"""
    minibatch: int = 20
    """games in a gradient step"""
    width: int = 64
    """of every layer; published 512"""
    layers: int = 2
    """LSTMs on top of each other"""
    learning_rate: float = 2e-4
    """of Adam"""
    weight_decay: float = 1e-5
    """added to the gradient for each parameter"""
    target: Literal["unseen", "all"] = "unseen"
    """what is learned: who of three holds a card that the player cannot see, which is all that worlds are drawn by; or
    binary cross-entropy over all places of all cards, as published"""
    held_out: int = 400
    """games to be measured on"""
    positions: int = 400
    """of these games in which legal worlds are counted as well"""
    worlds: int = 256
    """in each of those positions"""

    def __post_init__(self):
        self.at_least_one("rounds", "games", "epochs", "minibatch", "width", "layers", "learning_rate", "held_out")
        if self.games % self.minibatch:
            raise UserError(f"config: games = {self.games} must divide by minibatch = {self.minibatch}")


class Lesson(NamedTuple):
    """Games with everything that is asked in them, [game, ...]."""

    cards: chex.Array  # bool[game, seat, time, feature]  all cards as each seat sees them
    info: chex.Array  # bool or float32[game, step, size]  what the player to move sees beside them
    seat: chex.Array  # int8[game, step]  the player to move
    length: chex.Array  # int32[game, step]  cards played before
    places: chex.Array  # int8[game, step, card]  who holds each card: 0..2 in turn order after the player, or NOBODY
    is_asked: chex.Array  # bool[game, step]  false after the end of the game


def study(cfg: Config) -> int:
    """The whole loop; returns the exit code."""
    env = jaxgames.make("schafkopf")
    model = hands.make(env, width=cfg.width, layers=cfg.layers)
    folder = Folder(cfg, env, networks.describe(model), model.version)
    is_own = plays_itself(cfg.agent)
    held = studies.hold_networks(cfg, folder, () if is_own else (cfg.agent,), env)
    agent = own_agent(env, model, cfg.agent) if is_own else fixed_agent(env, pins.pinned(cfg.agent, env, held))
    start = load_hands(pins.held_to(cfg.start_from, held), env)[1] if cfg.start_from else None

    @functools.partial(jax.jit, static_argnums=2)
    def play(params: Params, key: chex.PRNGKey, count: int) -> State:
        return play_games(env, agent(params), key, count)

    @jax.jit
    def advance(student: Student) -> tuple[Student, chex.Array]:
        key, play_key, learn_key = jax.random.split(student.key, 3)
        lesson = ask(model, play(student.params, play_key, cfg.games))
        return update(cfg, model, student._replace(key=key), lesson, learn_key)

    exam = play(model.init(jax.random.key(0)), jax.random.key(cfg.seed + HELD_OUT), cfg.held_out)
    measure = jax.jit(lambda params, exam: losses(model, params, ask(model, exam)))

    def begin() -> Student:
        init_key, key = jax.random.split(jax.random.key(cfg.seed))
        params = model.init(init_key) if start is None else start
        return Student(params, make_optimiser(cfg).init(params), key, jnp.int32(0))

    def advance_and_measure(student: Student) -> tuple[Student, dict[str, float]]:
        student, loss = advance(student)
        return student, {"loss": float(loss)} | {name: float(x) for name, x in measure(student.params, exam).items()}

    student, exit_code = studies.learn(cfg, folder, held, begin, advance_and_measure, cfg.rounds)
    if exit_code == 0:
        print(report(folder, cfg, model, student.params, exam))
    return exit_code


# -- play -------------------------------------------------------------------------------------------------------------


def plays_itself(agent: str) -> bool:
    """Is this HP-PIMC without a network of its own?"""
    name, positional, named = agents.parse(agent)
    return name == "hp" and len(positional) < 3 and agents.NETWORK not in named


def own_agent(env: Env, model: HandsModel, spec: str) -> Callable[[Params], agents.Agent]:
    """HP-PIMC by what has been learned so far: params -> agent."""
    _, positional, named = agents.parse(spec)
    return lambda params: agents.predict.hp_with(env, model, params, *positional, **named)


def fixed_agent(env: Env, spec: str) -> Callable[[Params], agents.Agent]:
    """Any agent, whatever has been learned."""
    agent = agents.make(spec, env)
    return lambda params: agent


def play_games(env: Env, act: agents.Agent, key: chex.PRNGKey, count: int) -> State:
    """States [game, step, ...] before every decision of `count` games; the last one is repeated after the end."""
    deal_key, play_key = jax.random.split(key)

    def turn(states: State, key: chex.PRNGKey) -> tuple[State, State]:
        chosen = jax.vmap(act)(jax.random.split(key, count), states, states.current_player)
        return jax.vmap(env.step)(states, chosen), states

    first = jax.vmap(env.init)(jax.random.split(deal_key, count))
    states = jax.lax.scan(turn, first, jax.random.split(play_key, env.max_steps))[1]
    return jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), states)


def ask(model: HandsModel, states: State) -> Lesson:
    """Every decision of these games as a question: where are the cards that its player cannot see?"""

    def of_game(states: State) -> Lesson:
        view = jax.vmap(model.look)(states, states.current_player)
        last = jax.tree.map(lambda leaf: leaf[jnp.maximum((~states.done).sum() - 1, 0)], states)
        return Lesson(
            cards=jax.vmap(lambda seat: model.look(last, seat).rows[0])(jnp.arange(NUM_SEATS)),
            info=view.info,
            seat=states.current_player,
            length=view.lengths[0],
            places=jax.vmap(places_of_cards)(states, states.current_player),
            is_asked=~states.done,
        )

    return jax.vmap(of_game)(states)


def places_of_cards(state: State, player: chex.Array) -> chex.Array:
    """int8[card]: 0..2 for the hands of the next seats in turn order, NOBODY for cards played and for the own hand."""
    hidden = seats_from(player, NUM_SEATS)[1:]
    held = unpack(state.dealt[hidden] & ~gone(state))  # bool[hidden, card]
    return jnp.where(held.any(0), jnp.argmax(held, axis=0), NOBODY).astype(jnp.int8)


# -- study ------------------------------------------------------------------------------------------------------------


def predict(model: HandsModel, params: Params, lesson: Lesson) -> chex.Array:
    """float32[game, step, card, place], logits: one pass over the cards of a game for each of its seats."""

    def of_game(cards, info, seat, length):
        memory = jax.vmap(functools.partial(model.remember, params))(cards)  # [seat, length, width]
        return model.judge(params, info, memory[seat, length])

    return jax.vmap(of_game)(lesson.cards, lesson.info, lesson.seat, lesson.length)


def loss_of_all(model: HandsModel, params: Params, lesson: Lesson) -> chex.Array:
    """Binary cross-entropy over all places of all cards, after a softmax over the places of a card (SC-59)."""
    probability = jax.nn.softmax(predict(model, params, lesson))
    is_place = lesson.places[..., None] == jnp.arange(PLACES)
    likely = jnp.where(is_place, probability, 1 - probability)
    by_question = -jnp.log(jnp.maximum(likely, 1e-7)).mean((-1, -2))
    return jnp.where(lesson.is_asked, by_question, 0).sum() / jnp.maximum(lesson.is_asked.sum(), 1)


def loss_of_unseen(model: HandsModel, params: Params, lesson: Lesson) -> chex.Array:
    """Cross-entropy of the three hidden seats, the mean over all unseen cards."""
    log_probability = jax.nn.log_softmax(predict(model, params, lesson)[..., :NOBODY])
    is_place = (lesson.places[..., None] == jnp.arange(NOBODY)) & lesson.is_asked[..., None, None]
    return -jnp.where(is_place, log_probability, 0).sum() / jnp.maximum(is_place.sum(), 1)


LOSSES = {"unseen": loss_of_unseen, "all": loss_of_all}


def make_optimiser(cfg: Config) -> optax.GradientTransformation:
    """Adam, with the decay added to the gradient."""
    return optax.chain(optax.add_decayed_weights(cfg.weight_decay), optax.adam(cfg.learning_rate))


def update(
    cfg: Config, model: HandsModel, student: Student, lesson: Lesson, key: chex.PRNGKey
) -> tuple[Student, chex.Array]:
    """All epochs over the games of a round; also the mean loss of the last epoch."""
    optimiser, num_games = make_optimiser(cfg), lesson.seat.shape[0]

    def step(carry, games):
        params, state = carry
        part = jax.tree.map(lambda leaf: leaf[games], lesson)
        found, gradient = jax.value_and_grad(lambda params: LOSSES[cfg.target](model, params, part))(params)
        change, state = optimiser.update(gradient, state, params)
        return (optax.apply_updates(params, change), state), found

    orders = jax.vmap(lambda key: jax.random.permutation(key, num_games))(jax.random.split(key, cfg.epochs))
    (params, state), found = jax.lax.scan(step, (student.params, student.optimiser), orders.reshape(-1, cfg.minibatch))
    student = student._replace(params=params, optimiser=state, updates=student.updates + 1)
    return student, found[-(num_games // cfg.minibatch) :].mean()


# -- measure ----------------------------------------------------------------------------------------------------------


def losses(model: HandsModel, params: Params, lesson: Lesson) -> dict[str, chex.Array]:
    """Nats that the place of an unseen card costs, a mean over all of them: by the predictor, and by number alone.

    By number, a card is in a hand in proportion to the cards that the hand holds.
    """
    hidden = of_hidden_seats(jax.nn.softmax(predict(model, params, lesson)))
    is_place = lesson.places[..., None] == jnp.arange(NOBODY)  # [game, step, card, hidden]
    by_number = of_hidden_seats(is_place.sum(-2, keepdims=True) + jnp.zeros_like(hidden))
    weight = is_place & lesson.is_asked[..., None, None]

    def nats(probability):
        return -jnp.where(weight, jnp.log(jnp.maximum(probability, 1e-7)), 0).sum() / jnp.maximum(weight.sum(), 1)

    return {"log_loss": nats(hidden), "log_loss_by_number": nats(by_number)}


def of_hidden_seats(probability: chex.Array) -> chex.Array:
    """[..., hidden], scaled to a sum of 1: the card is in one of the three hands."""
    hidden = probability[..., :NOBODY]
    return hidden / jnp.maximum(hidden.sum(-1, keepdims=True), 1e-9)


class Comparison(NamedTuple):
    """One position against its legal worlds."""

    predicted: chex.Array  # float32[]  nats of an unseen card by the predictor
    legal: chex.Array  # float32[]  by how often the card is there in a legal world
    both: chex.Array  # float32[]  the same, with worlds weighed by the predictor: what worlds are drawn by
    gain: chex.Array  # float32[]  log of how much likelier the true deal is by the predictor than by the rules alone


def compare(model: HandsModel, params: Params, state: State, key: chex.PRNGKey, num_worlds: int) -> Comparison:
    """What the predictor knows beyond the rules, in one position."""
    env, player = model.env, state.current_player
    drawn = jax.vmap(lambda key: env.determinize(key, state, player))(jax.random.split(key, num_worlds))
    places = jax.vmap(places_of_cards, in_axes=(0, None))(drawn, player)  # [world, card]
    true = places_of_cards(state, player)
    is_unseen = true != NOBODY
    hidden = of_hidden_seats(model.places(params, state, player))
    is_there = places[..., None] == jnp.arange(NOBODY)  # bool[world, card, hidden]
    by_number = (true[:, None] == jnp.arange(NOBODY)).sum(0) / jnp.maximum(is_unseen.sum(), 1)

    def mean_of_worlds(weights):
        """float32[card, hidden], weights with a sum of 1; one more world, so that nothing is impossible."""
        return (num_worlds * jnp.tensordot(weights, is_there.astype(jnp.float32), 1) + by_number) / (num_worlds + 1)

    def log_of(probability, places):
        chosen = jnp.take_along_axis(probability, jnp.minimum(places, NOBODY - 1)[:, None].astype(jnp.int32), axis=1)
        return jnp.where(is_unseen, jnp.log(jnp.maximum(chosen[:, 0], 1e-7)), 0).sum()

    weights = jnp.maximum(hidden / hidden.max(-1, keepdims=True), LEAST_WEIGHT)  # as worlds are drawn by them
    of_worlds = jax.vmap(functools.partial(log_of, weights))(places)
    num_unseen = jnp.maximum(is_unseen.sum(), 1)
    return Comparison(
        predicted=-log_of(hidden, true) / num_unseen,
        legal=-log_of(mean_of_worlds(jnp.full(num_worlds, 1 / num_worlds)), true) / num_unseen,
        both=-log_of(mean_of_worlds(jax.nn.softmax(of_worlds)), true) / num_unseen,
        gain=log_of(weights, true) - jax.nn.logsumexp(of_worlds) + jnp.log(num_worlds),
    )


def report(folder: Folder, cfg: Config, model: HandsModel, params: Params, exam: State) -> str:
    """Write evaluation.md and calibration.png; also returns the text."""
    lesson = jax.jit(lambda exam: ask(model, exam))(exam)
    found = {name: float(x) for name, x in jax.jit(functools.partial(losses, model))(params, lesson).items()}
    running = np.flatnonzero(~np.asarray(exam.done).ravel())
    chosen = np.random.default_rng(cfg.seed).permutation(running)[: cfg.positions]
    states = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[chosen], exam)
    keys = jax.random.split(jax.random.key(cfg.seed + HELD_OUT), len(chosen))
    compared = jax.jit(jax.vmap(lambda state, key: compare(model, params, state, key, cfg.worlds)))(states, keys)
    means = {name: mean_and_error(np.asarray(each)) for name, each in compared._asdict().items()}
    bins = calibration(model, params, lesson)
    draw_calibration(bins, folder.folder / "calibration.png")
    lines = [
        f"Games of `{cfg.agent}`, {cfg.held_out} that were not learned from; nats of an unseen card:",
        "",
        "| | all decisions | some decisions |",
        "|---|---|---|",
        f"| by the number of cards | {found['log_loss_by_number']:.4f} | |",
        f"| by the mean of legal worlds | | {means['legal'][0]:.4f} ± {means['legal'][1]:.4f} |",
        f"| by the predictor | {found['log_loss']:.4f} | {means['predicted'][0]:.4f} ± {means['predicted'][1]:.4f} |",
        f"| by legal worlds, weighed by the predictor | | {means['both'][0]:.4f} ± {means['both'][1]:.4f} |",
        "",
        f"Some: {len(chosen)} decisions with {cfg.worlds} legal worlds each. There the true deal is e to the power of "
        f"{means['gain'][0]:.2f} ± {means['gain'][1]:.2f} times as likely by the predictor as by the rules alone.",
        "",
        "| predicted | found | cards |",
        "|---|---|---|",
        *(f"| {p:.3f} | {q:.3f} | {n:.0f} |" for p, q, n in bins if n),
    ]
    text = "\n".join(lines)
    write_whole(folder.folder / "evaluation.md", text + "\n")
    return text


def calibration(model: HandsModel, params: Params, lesson: Lesson, num_bins: int = 10) -> np.ndarray:
    """float[bin, 3]: mean prediction, how often it came true, and how many there were, of unseen cards."""
    hidden = np.asarray(of_hidden_seats(jax.nn.softmax(jax.jit(functools.partial(predict, model))(params, lesson))))
    places = np.asarray(lesson.places)
    rows = (places != NOBODY) & np.asarray(lesson.is_asked)[..., None]
    predicted, came_true = hidden[rows].ravel(), (places[rows][:, None] == np.arange(NOBODY)).ravel()
    place = np.minimum((predicted * num_bins).astype(int), num_bins - 1)
    counts, sums, hits = (np.bincount(place, each, num_bins) for each in (None, predicted, came_true))
    return np.stack([sums / np.maximum(counts, 1), hits / np.maximum(counts, 1), counts], axis=1)


def draw_calibration(bins: np.ndarray, path: pathlib.Path) -> None:
    """What was predicted against what was found, as a PNG."""
    from matplotlib.figure import Figure  # not pyplot, which would change what a notebook shows

    figure = Figure(figsize=(4.5, 4.5), layout="tight")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="grey", linestyle=":")
    seen = bins[bins[:, 2] > 0]
    axes.plot(seen[:, 0], seen[:, 1], marker="o")
    axes.set(xlabel="predicted: the seat holds the card", ylabel="found", xlim=(0, 1), ylim=(0, 1))
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(studies.main(Config, study, __doc__))
