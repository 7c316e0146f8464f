"""The server: one page, its files, and a socket for each visitor."""

import asyncio
import contextlib
import dataclasses
import pathlib
import time
from collections.abc import AsyncIterator, Awaitable, Coroutine
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

import jaxgames
from jaxgames.options import UserError
from web import messages, players
from web.tables import Hall, Table, as_text, in_thread

STATIC = pathlib.Path(__file__).parent / "static"
FILES = {
    "/": "index.html",
    "/page.js": "page.js",
    "/table.js": "table.js",
    "/memory.js": "memory.js",
    "/style.css": "style.css",
    "/icon.svg": "icon.svg",
}
RATE, BURST = 20.0, 60.0  # messages a second and at once that one visitor may send
MAX_VISITORS = 400

# Everything the page shows comes from here or is part of the page.
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class OnlyFromHere:
    """Refuses requests that name another host, and those that a foreign page sends (DNS rebinding, cross-site)."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]):
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get("host", ""), headers.get("origin")
        is_here = host in self.hosts and (origin is None or urlsplit(origin).netloc == host)
        # A browser always names the origin of a socket: without one it is no page of ours.
        if is_here and (scope["type"] == "http" or origin is not None):
            return await self.app(scope, receive, send)
        if scope["type"] == "http":
            return await PlainTextResponse("This table is for its own page only.", 403)(scope, receive, send)
        await receive()
        await send({"type": "websocket.close", "code": 4403, "reason": "This table is for its own page only."})
        return None


def make_app(hosts: frozenset[str], pace: float = 0.0) -> Starlette:
    """The application for the host names (with ports) under which it may be asked.

    `pace` is the shortest time that an agent takes for a move, in seconds: people like to see one card after another.
    """
    hall = Hall(pace)
    visitors: set[WebSocket] = set()

    async def file(request: Request) -> FileResponse:
        name = FILES[request.url.path]  # only these: no path from a request reaches the file system
        headers = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}
        return FileResponse(STATIC / name, headers=headers | {"Referrer-Policy": "no-referrer"})

    async def games(request: Request) -> JSONResponse:
        return JSONResponse(await in_thread(about_games))

    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        if len(visitors) >= MAX_VISITORS:
            await websocket.close(4429, "Too many visitors.")
            return
        visitors.add(websocket)
        try:
            await Visitor(hall, websocket).listen()
        finally:
            visitors.discard(websocket)

    routes: list[BaseRoute] = [Route(path, file) for path in FILES]
    routes += [Route("/games.json", games), WebSocketRoute("/socket", socket)]

    @contextlib.asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(hall.keep_swept())
        yield
        sweeping.cancel()

    app = Starlette(routes=routes, middleware=[Middleware(OnlyFromHere, hosts=hosts)], lifespan=running)
    app.state.hall = hall
    return app


def about_games() -> dict[str, Any]:
    """What the page offers: games, their options with defaults, and the agents known for each."""
    return {
        game: {
            "options": {name: _shown(value) for name, value in jaxgames.make(game).options.items()},
            "players": _numbers_of_players(game),
            "agents": [offer._asdict() for offer in players.offers(game)],
        }
        for game in jaxgames.games()
    }


def _numbers_of_players(game: str) -> list[int]:
    """The numbers of players that a game takes."""
    found = []
    for number in range(1, 11):
        with contextlib.suppress(ValueError):
            jaxgames.make(game, num_players=number)
            found.append(number)
    return found


def _shown(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


@dataclasses.dataclass
class Visitor:
    """One open page: it opens tables or sits at one, and is told what its seat may know."""

    hall: Hall
    websocket: WebSocket
    table: Table | None = None
    seat: int | None = None
    asking: asyncio.Task | None = None  # a hint or a belief that is being thought about
    allowance: float = dataclasses.field(default_factory=lambda: BURST)
    counted: float = dataclasses.field(default_factory=time.monotonic)

    async def listen(self) -> None:
        """Answer messages until the page goes."""
        try:
            while True:
                received = await self.websocket.receive()
                if received["type"] == "websocket.disconnect":
                    return
                text = received.get("text") or received.get("bytes") or ""
                await self.attend(self.answer(text))
        except (WebSocketDisconnect, RuntimeError):
            return  # the page went while it was being told something
        finally:
            if self.table is not None:
                self.table.listeners.pop(self, None)
            if self.asking is not None:
                self.asking.cancel()

    async def attend(self, work: Awaitable[None]) -> None:
        """Do it; whatever is wrong with it is a sentence for this page."""
        try:
            await work
        except ValueError as error:
            # UserErrors, and what a game says of bad options: they are checked by the game itself.
            await self.send({"type": "error", "text": str(error)[:400]})

    def spend(self) -> None:
        """A bucket of messages that fills again with time."""
        now = time.monotonic()
        self.allowance = min(BURST, self.allowance + (now - self.counted) * RATE) - 1
        self.counted = now
        if self.allowance < 0:
            raise UserError("too many messages at once; wait a moment")

    async def answer(self, text: str | bytes) -> None:
        self.spend()
        message = messages.read(text)
        kind = message["type"]
        if self.table is not None:
            self.table.touched = time.monotonic()
        if kind in ("open", "load"):
            table = await self.hall.open(
                message.get("game", ""), message.get("options", {}), message["seats"], message.get("record")
            )
            await self.send({"type": "opened", "links": table.links()})
            await table.start()
        elif kind == "sit":
            await self.sit(message["key"])
        elif self.table is None:
            raise UserError("sit down at a table first")
        else:
            await self.at_table(self.table, kind, message)

    async def sit(self, key: str) -> None:
        table, seat = self.hall.find(key)
        if self.table is not None:
            self.table.listeners.pop(self, None)
        self.table, self.seat = table, seat
        table.listeners[self] = (seat, self.send)
        await self.send(await table.view(seat))
        if table.game is not None:
            table.go_on()

    async def at_table(self, table: Table, kind: str, message: dict[str, Any]) -> None:
        if kind == "move":
            await table.move(self.seat, message["action"], message["step"])
        elif kind == "undo":
            await table.undo(self.seat)
        elif kind == "again":
            await table.again(self.seat)
        elif kind == "pause":
            await table.pause(message["paused"])
        elif kind == "hint":
            self.ask(table.hint(self.seat, message["agent"]))
        elif kind == "belief":
            self.ask(table.believe(self.seat))
        else:
            await self.send(table.record())

    def ask(self, question: Coroutine[Any, Any, dict[str, Any]]) -> None:
        """Answer when the answer is there: meanwhile the page may go on, but not ask again."""
        if self.asking is not None and not self.asking.done():
            question.close()
            raise UserError("one question at a time; the last one is still being thought about")

        async def reply() -> None:
            await self.send(await question)

        self.asking = asyncio.create_task(self.attend(reply()))

    async def send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it has just gone: `listen` will see that
            await self.websocket.send_text(as_text(message))

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other
