"""Tables: who sits where, the game being played, and what each seat is told of it. No web in here."""

import asyncio
import concurrent.futures
import functools
import json
import logging
import secrets
import time
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import jaxgames
from jaxgames import records
from jaxgames.host import Game, compiled
from jaxgames.options import UserError
from jaxgames.players import Player
from web import players

T = TypeVar("T")
PERSON = "person"
MAX_TABLES = 200
IDLE_SECONDS = 2 * 3600  # a table that nobody has looked at or moved at for so long ends

MAX_BARS = 12  # moves that a hint shows, with those that the agent would never make
GLANCE = 0.7  # seconds for which each move of agents among themselves can be seen

# The event loop only passes messages; games and agents run in threads. What has never run compiles first, which takes
# from a second to minutes: it gets a thread for itself, so that no table waits for another's compile.
WORKERS = concurrent.futures.ThreadPoolExecutor(max_workers=8, thread_name_prefix="table")
COMPILERS = concurrent.futures.ThreadPoolExecutor(max_workers=2 * MAX_TABLES, thread_name_prefix="compile")


class Seat(NamedTuple):
    """A place at a table. Whoever holds the key of a person's seat sits there."""

    spec: str  # PERSON, or the spec of an agent
    key: str  # unguessable; of an agent's seat nobody learns it


class Entry(NamedTuple):
    """A move in words, as each viewer may know it."""

    seat: int
    names: dict[int | None, str]


class Table:
    """One game with its seats. Its methods are coroutines; a lock keeps them in order."""

    def __init__(self, env: jaxgames.Env, specs: list[str], game: Game | None = None, pace: float = 0.0):
        if len(specs) != env.num_players:
            raise UserError(f"{env.id}: seats must be {env.num_players} names, one for each seat, got {len(specs)}")
        for spec in specs:
            if spec != PERSON:
                players.player(env, spec)
        self.env = env
        self.seats = [Seat(spec, secrets.token_urlsafe(18)) for spec in specs]
        self.watch_key = secrets.token_urlsafe(18)  # sees everything, so only a table of agents hands it out
        self.lock = asyncio.Lock()
        self.listeners: dict[object, tuple[int | None, Callable[[dict], Awaitable[None]]]] = {}
        self.log: list[Entry] = []
        self.touched = time.monotonic()
        self.pace = pace if self.people else max(pace, GLANCE)  # seconds between the moves of agents
        self.paused = False
        self.game = game
        self._driver: asyncio.Task | None = None

    @property
    def people(self) -> list[int]:
        """The seats where people sit."""
        return [seat for seat, place in enumerate(self.seats) if place.spec == PERSON]

    def seat_of(self, key: str) -> int | None:
        """The person's seat that a key opens, None for the watcher of a table of agents; a UserError otherwise."""
        for seat in self.people:
            if secrets.compare_digest(self.seats[seat].key.encode(), key.encode()):
                return seat
        if not self.people and secrets.compare_digest(self.watch_key.encode(), key.encode()):
            return None
        raise UserError("this link opens no seat at any table that is still there")

    def links(self) -> dict[str, str]:
        """The key of every person's seat; of a table of agents, that of the watcher."""
        keys = {str(seat): self.seats[seat].key for seat in self.people}
        return keys or {"watch": self.watch_key}

    # -- playing -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Deal, and let the agents begin."""
        async with self.lock:
            if self.game is None:
                self.game = await in_thread(self._new_game, compiled(self.env))
            else:
                self.log = await in_thread(self._retell)
        self.go_on()

    def _new_game(self) -> Game:
        """A fresh deal. One move is tried, so that all that a game needs is compiled by now."""
        game: Game = Game(self.env, seed=secrets.randbits(32), players=[place.spec for place in self.seats])
        game.step(game.legal[0])
        game.undo()
        return game

    def go_on(self) -> None:
        """See that the agents move whenever it is their turn."""
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())

    async def _drive(self) -> None:
        """Until a person is to move: let the agent of the seat to move think, then move if the game still stands so.

        It thinks without the lock: meanwhile people may sit down, look, take back.
        """
        while True:
            await self.tell()
            game = self.game
            if game is None or game.is_over or self.paused or not (self.people or self.listeners):
                return
            place, state = self.seats[game.player], game.state
            if place.spec == PERSON:
                return
            try:
                agent: Player = players.player(self.env, place.spec)
                thinking = in_thread(functools.partial(agent.act, secrets.randbits(32), state), agent)
                action, _ = await asyncio.gather(thinking, asyncio.sleep(self.pace))
            except Exception:
                logging.exception("an agent failed")
                await self.tell_all({"type": "error", "text": f"{place.spec} could not decide; reload to ask it again"})
                return
            async with self.lock:
                if self.game is game and game.state is state and not self.paused:
                    await in_thread(functools.partial(self._take, action))

    async def move(self, seat: int | None, action: int, step: int) -> None:
        """A person's move. `step` says which position it was meant for, so that a late click does nothing."""
        async with self.lock:
            game = self._running()
            if step != len(game.actions):
                raise UserError("the game has moved on since; look again")
            if game.player != seat:
                raise UserError(f"it is seat {game.player}'s turn")
            await in_thread(lambda: self._take(action))
        self.go_on()

    def _take(self, action: int) -> None:
        game = self.game
        assert game is not None
        seat, viewers = game.player, [*self.people, *([] if self.people else [None])]
        names = {viewer: game.name(action, viewer) for viewer in viewers} if action in game.legal else {}
        game.step(action)
        self.log.append(Entry(seat, names))
        self.touched = time.monotonic()

    def _retell(self) -> list[Entry]:
        """The log of a game that was loaded."""
        assert self.game is not None
        actions, log = list(self.game.actions), []
        self.game.undo(len(actions))
        saved, self.log = self.log, []
        for action in actions:
            self._take(action)
        log, self.log = self.log, saved
        return log

    async def undo(self, seat: int | None) -> None:
        """Take back to this person's last decision."""
        async with self.lock:
            game = self.game
            if game is None or not game.actions:
                raise UserError("there is nothing to take back")
            if self.people != [seat]:
                raise UserError("moves can be taken back only where one person plays against agents")
            back = next((i for i in range(len(self.log) - 1, -1, -1) if self.log[i].seat == seat), None)
            if back is None:
                raise UserError("there is nothing to take back")
            await in_thread(lambda: game.undo(len(game.actions) - back))
            del self.log[back:]
        self.go_on()

    async def again(self, seat: int | None) -> None:
        """Another game at the same table, once this one is over."""
        async with self.lock:
            if self.game is not None and not self.game.is_over and self.people != [seat] and self.people:
                raise UserError("this game is not over")
            self.game, self.log = await in_thread(self._new_game, compiled(self.env)), []
        self.go_on()

    async def pause(self, paused: bool) -> None:
        """Agents among themselves stop and go on when a watcher says so."""
        if self.people:
            raise UserError("only a game of agents can be paused")
        self.paused = paused
        self.go_on()

    async def hint(self, seat: int | None, spec: str) -> dict[str, Any]:
        """What an agent would do here, with how often it would."""
        agent = players.player(self.env, spec)
        game = self._running()
        if game.player != seat:
            raise UserError("a hint is for the player to move")
        state, step, legal = game.state, len(game.actions), game.legal
        shares = await in_thread(lambda: agent.shares(secrets.randbits(32), state), agent)
        likely = sorted(legal, key=lambda action: -shares.get(action, 0.0))[: max(len(shares), MAX_BARS)]
        moves = [[action, self.env.action_name(state, action, seat), shares.get(action, 0.0)] for action in likely]
        return {"type": "hint", "step": step, "agent": spec, "moves": moves}

    async def believe(self, seat: int | None) -> dict[str, Any]:
        """What this seat can know of what it does not see."""
        game = self._running()
        if seat is None:
            raise UserError("who sees everything has nothing to believe")
        state, step = game.state, len(game.actions)
        ask = players.beliefs(self.env)
        found = await in_thread(lambda: ask(secrets.randbits(32), state, seat), ask)
        return {"type": "belief", "step": step, **found.as_json()}

    def record(self) -> dict[str, Any]:
        """The finished game. It holds everybody's cards: an unfinished one stays here."""
        if self.game is None or not self.game.is_over:
            raise UserError("the record is handed out when the game is over: it holds everybody's cards")
        return {"type": "record", "line": self.game.record().to_json()}

    def _running(self) -> Game:
        if self.game is None:
            raise UserError("the cards are still being dealt")
        if self.game.is_over:
            raise UserError("the game is over")
        return self.game

    # -- telling -------------------------------------------------------------------------------------------------

    async def tell(self) -> None:
        """Everybody what they may know now."""
        drawn: dict[int | None, dict[str, Any]] = {}
        for listener, (viewer, _) in list(self.listeners.items()):
            if viewer not in drawn:
                drawn[viewer] = await self.view(viewer)
            await self._tell_one(listener, drawn[viewer])

    async def tell_all(self, message: dict[str, Any]) -> None:
        """Everybody the same."""
        for listener in list(self.listeners):
            await self._tell_one(listener, message)

    async def _tell_one(self, listener: object, message: dict[str, Any]) -> None:
        if listener in self.listeners:
            try:
                await self.listeners[listener][1](message)
            except Exception:  # a page that cannot be told anything must not stop the table for the others
                self.listeners.pop(listener, None)

    async def view(self, viewer: int | None) -> dict[str, Any]:
        """The message that shows the table to one viewer, between two moves."""
        if self.game is None:
            return self.told(viewer)  # the lock is held by who deals: nobody has to wait to be told so
        async with self.lock:
            return await in_thread(functools.partial(self.told, viewer))

    def told(self, viewer: int | None) -> dict[str, Any]:
        """What `view` gives; nobody may move meanwhile."""
        game = self.game
        places = [{"name": "you" if seat == viewer else place.spec} for seat, place in enumerate(self.seats)]
        about: dict[str, Any] = {
            "type": "table",
            "game": self.env.id,
            "options": records.plain(self.env.options),
            "seat": viewer,
            "seats": places,
            "people": len(self.people),
        }
        if game is None:
            return about | {"waiting": True}
        mine = viewer is not None and game.player == viewer and not game.is_over
        return about | {
            "step": len(game.actions),
            "turn": None if game.is_over else game.player,
            "over": game.is_over,
            "paused": self.paused,
            "winners": game.winners,
            "scores": game.scores,
            "picture": game.picture(viewer),
            "moves": list(map(list, game.moves.items())) if mine else [],
            "log": [[entry.seat, entry.names.get(viewer, "")] for entry in self.log],
        }


class Hall:
    """All tables. Idle ones end, and there are never more than `MAX_TABLES`."""

    def __init__(self, pace: float = 0.0) -> None:
        self.tables: dict[str, Table] = {}
        self.pace = pace

    async def open(self, game: str, options: dict[str, Any], specs: list[str], record: str | None = None) -> Table:
        """A new table, from a record if one is given."""
        await self.sweep()
        if len(self.tables) >= MAX_TABLES:
            raise UserError(f"there are {MAX_TABLES} tables already; come back when one has ended")
        loaded = await _apart(lambda: _load(record)) if record else None
        env = loaded.env if loaded else await in_thread(lambda: jaxgames.make(game, **options))
        table = await in_thread(lambda: Table(env, specs, loaded, self.pace))
        self.tables[secrets.token_urlsafe(9)] = table
        return table

    def find(self, key: str) -> tuple[Table, int | None]:
        """The table and the seat that a key opens."""
        for table in self.tables.values():
            try:
                return table, table.seat_of(key)
            except UserError:
                continue
        raise UserError("this link opens no seat at any table that is still there")

    async def sweep(self) -> None:
        """End tables at which nothing has happened for long; whoever still looks at one is told."""
        now = time.monotonic()
        for name, table in list(self.tables.items()):
            if now - table.touched > IDLE_SECONDS:
                del self.tables[name]
                await table.tell_all({"type": "ended", "text": "Nothing happened here for long: this table has ended."})
                table.listeners.clear()

    async def keep_swept(self) -> None:
        """For as long as the server runs."""
        while True:
            await asyncio.sleep(IDLE_SECONDS / 20)
            await self.sweep()


def _load(line: str) -> Game:
    """A game from a record, checked like any input."""
    record = records.parse(line)
    records.check(record)
    return Game.from_record(record)


async def in_thread(work: Callable[[], T], program: object = None) -> T:
    """What `work` returns. `program` is what it compiles, unless it has run before."""
    if program is None or program in _compiled:
        return await asyncio.get_running_loop().run_in_executor(WORKERS, work)
    result = await asyncio.get_running_loop().run_in_executor(COMPILERS, work)
    _compiled.add(program)
    return result


async def _apart(work: Callable[[], T]) -> T:
    """What `work` returns, which may compile anything."""
    return await in_thread(work, work)


_compiled: weakref.WeakSet[Any] = weakref.WeakSet()


def as_text(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))
