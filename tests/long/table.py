"""Many people at the tables of one server at once."""

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time

import websockets

from jaxgames import records
from tests.support import ROOT

# Short games of two kinds, and long ones.
TABLES = [
    ("schafkopf", {}, ["person", "rule", "random", "rule"]),
    ("magictrick", {}, ["person", "rule", "random", "random"]),
    ("skullking", {"num_players": 3, "hand_sizes": [1, 2, 3]}, ["person", "rule:easy", "random"]),
    ("skyjo", {"num_players": 2, "score_limit": 1}, ["person", "rule"]),
]


def table(clients: int = 50, games: int = 200, port: int = 8123, seed: int = 0) -> None:
    """Clients play games at tables of their own at the same time; every record must be the game that its client saw.

    Prints the time from a move to the agents' answer, and the memory of the server with all tables open.
    """
    command = [sys.executable, "-m", "web", "--no-browser", "--port", str(port), "--pace", "0"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        print(json.dumps(asyncio.run(_all(server.pid, f"127.0.0.1:{port}", clients, games, seed)), indent=2))
    finally:
        server.terminate()
        server.wait()


async def _all(pid: int, host: str, clients: int, games: int, seed: int) -> dict[str, object]:
    await _reachable(host)
    before = _megabytes(pid)
    chooser = random.Random(seed)
    for kind in range(len(TABLES)):  # what is compiled now is compiled for all
        await _play(host, kind, 1, random.Random(0), [], [])
    compiled = _megabytes(pid)
    answers: list[float] = []
    seen: list[records.Record] = []
    begin = time.perf_counter()
    shares = [games // clients + (i < games % clients) for i in range(clients)]
    seeds = [chooser.getrandbits(32) for _ in range(clients)]
    await asyncio.gather(
        *(_play(host, i % len(TABLES), shares[i], random.Random(seeds[i]), answers, seen) for i in range(clients))
    )
    seconds = time.perf_counter() - begin
    after = _megabytes(pid)
    alone: list[float] = []
    for kind in range(len(TABLES)):
        await _play(host, kind, 1, random.Random(1), alone, [])
    wrong = [problem for problem in records.problems(seen) if problem is not None]
    assert not wrong, wrong
    return {
        "clients": clients,
        "games": len(seen),
        "different_deals": len({json.dumps(record.deal) for record in seen}),
        "seconds": round(seconds, 1),
        "decisions": len(answers),
        "answer_ms_median_all_at_once": round(1000 * statistics.median(answers), 1),
        "answer_ms_median_alone": round(1000 * statistics.median(alone), 1),
        "answer_ms_90_percent_alone": round(1000 * statistics.quantiles(alone, n=10)[-1], 1),
        "megabytes": {"at_start": before, "games_compiled": compiled, f"{clients + len(TABLES)}_tables": after},
    }


async def _reachable(host: str) -> None:
    for _ in range(600):
        try:
            async with websockets.connect(f"ws://{host}/socket", origin=f"http://{host}"):
                return
        except OSError:
            await asyncio.sleep(0.1)
    raise RuntimeError("the server did not start")


async def _play(
    host: str, kind: int, games: int, chooser: random.Random, answers: list[float], seen: list[records.Record]
) -> None:
    """One person at one table for several games. `answers` are seconds from a move to the next own turn or the end."""
    game, options, seats = TABLES[kind]
    async with websockets.connect(f"ws://{host}/socket", origin=f"http://{host}", max_size=2**24) as socket:

        async def send(**message: object) -> None:
            await socket.send(json.dumps(message))

        async def hear(kind: str) -> dict:
            while True:
                message = json.loads(await socket.recv())
                assert message["type"] != "error" or kind == "error", message
                if message["type"] == kind:
                    return message

        async def my_turn(after: int) -> dict:
            """The table when it is this seat's turn after that step, or when the game has ended after it."""
            while True:
                shown = await hear("table")
                assert shown["game"] == game
                is_mine = not shown.get("waiting") and (shown["over"] or shown["turn"] == shown["seat"])
                if is_mine and shown["step"] > after and not (shown["over"] and after < 0):
                    return shown

        await send(type="open", game=game, options=options, seats=seats)
        key = (await hear("opened"))["links"]["0"]
        await send(type="sit", key=key)
        for number in range(games):
            made: list[int] = []
            shown = await my_turn(-1)
            while not shown["over"]:
                action = chooser.choice(shown["moves"])[0]
                made.append(action)
                asked = time.perf_counter()
                await send(type="move", action=action, step=shown["step"])
                shown = await my_turn(shown["step"])
                answers.append(time.perf_counter() - asked)
                await asyncio.sleep(0.05)  # a person is no faster, and the server takes 20 messages a second
            await send(type="record")
            record = records.parse((await hear("record"))["line"])
            _check(record, game, made, shown)
            seen.append(record)
            if number + 1 < games:
                await send(type="again")


def _check(record: records.Record, game: str, made: list[int], shown: dict) -> None:
    """The record is of the game that this client saw, with the moves that it made."""
    assert record.game == game
    own = [action for action, (seat, _) in zip(record.actions, shown["log"], strict=True) if seat == 0]
    assert own == made, "moves were lost or mixed"
    assert list(record.scores or ()) == shown["scores"]


def _megabytes(pid: int) -> int:
    """Resident memory of a process (Linux)."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20
