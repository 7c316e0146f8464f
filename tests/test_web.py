"""The server of the table: who may ask, what a seat is told, and what happens to bad messages."""

import asyncio
import json
import random
import threading
import time
import types

import jax.numpy as jnp
import numpy as np
import pytest

starlette = pytest.importorskip("starlette")

import agents  # noqa: E402
import jaxgames  # noqa: E402
from agents import checkpoints  # noqa: E402
from jaxgames import host  # noqa: E402
from jaxgames.options import UserError  # noqa: E402
from jaxgames.players import Player  # noqa: E402
from jaxgames.skullking.cards import card_name  # noqa: E402
from tests.sixth_game import KuhnEnv  # noqa: E402
from web import messages, players, server, tables  # noqa: E402

HERE = "127.0.0.1:8000"
OPEN = {"type": "open", "game": "schafkopf", "options": {}, "seats": ["person", "rule", "rule", "rule"]}


@pytest.fixture(scope="module")
def client():
    from starlette.testclient import TestClient

    with TestClient(server.make_app(frozenset({HERE})), base_url=f"http://{HERE}") as client:
        yield client


def socket(client, origin=f"http://{HERE}"):
    return client.websocket_connect("/socket", headers={"host": HERE, **({"origin": origin} if origin else {})})


def ask(connection, **message):
    connection.send_text(json.dumps(message))


def hear(connection, kind):
    """The next message of this kind."""
    while True:
        message = json.loads(connection.receive_text())
        if message["type"] == kind:
            return message


def next_table(connection):
    """The table, as soon as it waits for this seat or is over."""
    while True:
        table = hear(connection, "table")
        if not table.get("waiting") and (table["over"] or table["turn"] == table["seat"]):
            return table


def sit(connection, message=OPEN):
    connection.send_text(json.dumps(message))
    links = hear(connection, "opened")["links"]
    ask(connection, type="sit", key=next(iter(links.values())))
    return links


# -- who may ask -----------------------------------------------------------------------------------------------------


def test_only_its_own_page_may_ask(client):
    assert client.get("/").status_code == 200
    assert client.get("/", headers={"host": "evil.example"}).status_code == 403
    assert client.get("/games.json", headers={"origin": "http://evil.example"}).status_code == 403
    for origin in ("http://evil.example", None, f"http://{HERE}.evil.example"):
        with pytest.raises(Exception), socket(client, origin):  # noqa: B017
            pass


@pytest.mark.parametrize("path", ["/../pyproject.toml", "/static/index.html", "/%2e%2e/web/server.py", "/etc/passwd"])
def test_no_path_reaches_the_file_system(client, path):
    assert client.get(path).status_code in (403, 404)


def test_every_file_of_the_page_is_there_and_asks_for_nothing_from_outside(client):
    for path in server.FILES:
        answer = client.get(path)
        assert answer.status_code == 200
        assert "http://" not in answer.text.replace("http://www.w3.org", "")
        assert "https://" not in answer.text
        assert "default-src 'self'" in answer.headers["content-security-policy"]


# -- messages --------------------------------------------------------------------------------------------------------

BAD = [
    "",
    "{",
    "null",
    "[]",
    "7",
    '"move"',
    "{}",
    '{"type": "fly"}',
    '{"type": 7}',
    '{"type": "move"}',
    '{"type": "move", "action": "1", "step": 0}',
    '{"type": "move", "action": true, "step": 0}',
    '{"type": "move", "action": 1, "step": 0, "seat": 2}',
    '{"type": "move", "action": 1e99, "step": 0}',
    '{"type": "open", "game": "schafkopf", "options": {}, "seats": [1, 2]}',
    '{"type": "sit", "key": null}',
    '{"type": "hint", "agent": 5}',
    "[" * 100_000,
    '{"type": "sit", "key": "' + "x" * messages.MAX_LETTERS + '"}',
]


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:40])
def test_a_bad_message_is_refused_in_a_sentence(text):
    with pytest.raises(UserError, match=r"[a-z]"):
        messages.read(text)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("ppo:/etc/passwd", "named, not loaded from a path"),
        ("ppo:../runs/x", "named, not loaded from a path"),
        ("ppo:agents", "there is no network 'agents' here"),  # a folder that is there
        ("ppo:network=agents", "there is no network 'agents' here"),
        ("pimc:10,40,playouts=ppo:agents", "there is no network 'agents' here"),
        ("pimc:" + "1" * 100, "named, not loaded from a path"),
        ("pimc:100000,30000", "would think for too long"),
        ("pimc:worlds=9000,simulations=40", "would think for too long"),
        ("nobody", "unknown agent 'nobody'"),
    ],
)
def test_agents_are_named_and_of_a_size_that_a_table_can_wait_for(spec, words):
    with pytest.raises(UserError, match=words):
        players.player(jaxgames.make("schafkopf"), spec)


@pytest.mark.parametrize("game", jaxgames.games())
def test_every_agent_of_the_repository_can_be_sat_at_the_table(game):
    """Where the agent itself refuses (it plays another game or mode), the table says the same."""
    trained = [offer for offer in players.offers(game) if offer.spec.startswith("ppo:")]
    networks = [offer.spec.removeprefix("ppo:") for offer in trained]
    needs = {"num_players": trained[0].num_players, **trained[0].options} if trained else {}
    env = jaxgames.make(game, **needs)
    for name in agents.names(env):
        if "<network>" not in _usage(env, name):
            spec = name
        elif networks:
            spec = f"{name}:{networks[0]}"
        else:
            continue
        if refusal := _refusal(agents.make, spec, env):
            assert _refusal(players.player, env, spec) == refusal
            assert name not in ("random", "rule", "pimc", "ppo", "worlds", "rollouts")
        else:
            assert players.player(env, spec).spec == spec


def _refusal(make, *arguments):
    try:
        make(*arguments)
    except UserError as error:
        return str(error)
    return None


def _usage(env, name):
    """How the spec of an agent is written; its arguments without a default in < >."""
    return _refusal(agents.make, f"{name}:no_such=argument", env)


def test_a_network_is_offered_with_the_options_that_it_was_trained_for():
    (offer,) = (offer for offer in players.offers("skyjo") if offer.spec == "ppo:skyjo")
    assert offer.options["action_mode"] == "decision"
    assert not any(name.startswith("reward") for name in offer.options)
    (offer,) = (offer for offer in players.offers("skullking") if offer.spec == "ppo:skullking")
    assert (offer.num_players, offer.options) == (4, {})


def test_whoever_starts_the_server_can_admit_a_network_of_their_own(monkeypatch):
    monkeypatch.setattr(players, "_networks", {})
    with pytest.raises(UserError, match="letters, digits"):
        players.admit("a/b", "runs/x")
    with pytest.raises(UserError, match="no checkpoint"):
        players.admit("mine", "nowhere")
    players.admit("mine", str(checkpoints.WEIGHTS / "skullking"))
    assert players.offers("skullking")[-1][:2] == ("ppo:mine", "your network")
    assert "ppo:mine" not in [offer.spec for offer in players.offers("skyjo")]
    assert players.player(jaxgames.make("skullking"), "ppo:mine").spec == "ppo:mine"


def test_a_thousand_malformed_messages_and_the_game_goes_on(client, monkeypatch):
    monkeypatch.setattr(server, "BURST", 5000.0)  # how many are too many has a test of its own
    chooser = random.Random(0)
    good = [
        {"type": "move", "action": 1, "step": 0},
        {"type": "hint", "agent": "rule"},
        {"type": "open", "game": "schafkopf", "options": {}, "seats": ["person"] * 4},
        {"type": "load", "record": "{}", "seats": ["person"] * 4},
        {"type": "sit", "key": "x" * 24},
        {"type": "pause", "paused": True},
    ]
    odd = [None, True, -1, 2**70, 1e308, "", "\0", "\ud800", "../../etc/passwd", [], [[]], {}, {"a": {}}, "x" * 5000]

    def malformed():
        message = dict(chooser.choice(good))
        for _ in range(chooser.randrange(1, 4)):
            message[chooser.choice([*message, "extra"])] = chooser.choice(odd)
        text = json.dumps(message)
        return text[: chooser.randrange(len(text))] if chooser.random() < 0.3 else text

    with socket(client) as page:
        sit(page)
        table = next_table(page)
        for _ in range(1000):
            page.send_text(malformed())
            assert hear(page, "error")["text"]
        ask(page, type="move", action=table["moves"][0][0], step=table["step"])
        assert next_table(page)["step"] > table["step"]


# -- tables that wait, fail and end ------------------------------------------------------------------------------------

KUHN = KuhnEnv()


@pytest.fixture
def seated(monkeypatch):
    """Agents of Kuhn poker by name: `passes` at once, `slow` when it is allowed to, `broken` never."""
    go_on = threading.Event()

    class Slow(Player):
        def act(self, seed, state):
            assert go_on.wait(60)
            return 0

    class Broken(Player):
        def act(self, seed, state):
            raise RuntimeError("inside an agent")

    kinds = {"passes": Player, "slow": Slow, "broken": Broken}
    monkeypatch.setattr(
        players, "player", lambda env, spec: kinds[spec](env, spec, lambda key, state, player: jnp.int32(0))
    )
    yield go_on
    go_on.set()


def listen(table, viewer):
    """What a viewer of the table is told from now on."""
    heard = []

    async def send(message):
        heard.append(message)

    table.listeners[object()] = (viewer, send)
    return heard


async def until(is_so):
    for _ in range(3000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come to pass")


def test_no_table_waits_for_the_compile_of_another(seated):
    """More slow tables than there are workers: others deal, play and are looked at meanwhile, and so are they."""

    async def play():
        slow = [tables.Table(KUHN, [tables.PERSON, "slow"]) for _ in range(tables.WORKERS._max_workers + 2)]
        for table in slow:
            await table.start()
            await table.move(0, 0, 0)
        quick = tables.Table(KUHN, [tables.PERSON, "passes"])
        await quick.start()
        await quick.move(0, 1, 0)
        await until(lambda: quick.game.is_over)
        for table in slow:
            assert (await table.view(0))["turn"] == 1  # still thinking, and its table can be seen
            await table.undo(0)  # and taken back
            assert (await table.view(0))["turn"] == 0
        seated.set()
        await slow[0].move(0, 0, 0)
        await until(lambda: slow[0].game.is_over)
        assert slow[0].game.actions == [0, 0]

    asyncio.run(play())


def test_an_agent_that_fails_is_a_sentence(seated):
    async def play():
        table = tables.Table(KUHN, [tables.PERSON, "broken"])
        heard = listen(table, 0)
        await table.start()
        await table.move(0, 0, 0)
        await until(lambda: heard and heard[-1]["type"] == "error")
        assert "broken could not decide" in heard[-1]["text"]
        await table.undo(0)
        assert (await table.view(0))["turn"] == 0

    asyncio.run(play())


def test_idle_tables_end_and_who_looks_at_one_is_told(seated):
    async def play():
        hall = tables.Hall()
        idle, used = (tables.Table(KUHN, [tables.PERSON, "passes"]) for _ in range(2))
        hall.tables = {"idle": idle, "used": used}
        heard = listen(idle, 0)
        idle.touched = time.monotonic() - tables.IDLE_SECONDS - 1
        await hall.sweep()
        assert heard[-1]["type"] == "ended"
        assert hall.tables == {"used": used}
        with pytest.raises(UserError, match="opens no seat"):
            hall.find(idle.seats[0].key)
        assert hall.find(used.seats[0].key) == (used, 0)

    asyncio.run(play())


def test_agents_among_themselves_play_only_while_somebody_watches(seated):
    async def play():
        table = tables.Table(KUHN, ["passes", "passes"])
        table.pace = 0.0
        await table.start()
        await asyncio.sleep(0.05)
        assert table.game.actions == []
        heard = listen(table, None)
        table.go_on()
        await until(lambda: table.game.is_over and heard[-1].get("over"))
        assert [message["step"] for message in heard] == [0, 1, 2]

    asyncio.run(play())


def test_there_are_never_more_tables_than_the_server_has_room_for(seated, monkeypatch):
    monkeypatch.setattr(tables, "MAX_TABLES", 1)

    async def play():
        hall = tables.Hall()
        hall.tables["one"] = tables.Table(KUHN, [tables.PERSON, "passes"])
        with pytest.raises(UserError, match="1 tables already"):
            await hall.open("schafkopf", {}, ["person"] * 4)

    asyncio.run(play())


# -- a game ----------------------------------------------------------------------------------------------------------


def test_a_whole_game_with_all_that_can_be_asked(client):
    with socket(client) as page:
        sit(page)
        table = next_table(page)
        ask(page, type="record")
        assert "when the game is over" in hear(page, "error")["text"]
        ask(page, type="hint", agent="rule")
        hint = hear(page, "hint")
        assert {move[0] for move in hint["moves"]} <= {move[0] for move in table["moves"]}
        assert abs(sum(move[2] for move in hint["moves"]) - 1) < 1e-6
        ask(page, type="belief")
        belief = hear(page, "belief")
        assert len(belief["rows"]) == 24
        assert all(abs(sum(shares) - 1) < 1e-6 for _, shares in belief["rows"])
        for bad in BAD[:14]:
            page.send_text(bad)
            assert hear(page, "error")["text"]
        ask(page, type="move", action=999, step=table["step"])
        assert "not legal" in hear(page, "error")["text"]
        ask(page, type="move", action=table["moves"][0][0], step=table["step"] + 5)
        assert "moved on" in hear(page, "error")["text"]
        first = table
        ask(page, type="move", action=table["moves"][0][0], step=table["step"])
        table = next_table(page)
        ask(page, type="undo")
        assert next_table(page)["step"] == first["step"]
        table = first
        while not table["over"]:
            assert table["moves"]
            ask(page, type="move", action=table["moves"][-1][0], step=table["step"])
            table = next_table(page)
        ask(page, type="record")
        line = hear(page, "record")["line"]
        assert json.loads(line)["players"][0] == tables.PERSON
        ask(page, type="load", record=line, seats=["person", "rule", "rule", "rule"])
        assert hear(page, "opened")
        ask(page, type="load", record=line.replace('"deck":[', '"deck":[99,'), seats=["person", "rule", "rule", "rule"])
        assert hear(page, "error")["text"]


def test_a_seat_is_told_nothing_but_what_it_may_know():
    """The message to a seat is the same, to the letter, in every world that this seat cannot tell from the true one."""
    env = jaxgames.make("schafkopf")
    table = tables.Table(env, [tables.PERSON] * 4)
    table.game = host.Game(env, seed=5)
    determinize = host.compiled(env).determinize
    for _ in range(20):
        table._take(table.game.legal[-1])
        for viewer in range(4):
            told = table.told(viewer)
            truth = table.game._past[-1]
            world = table.game._position(determinize(1, truth.state, viewer), truth.returns)
            table.game._past[-1] = world
            again = table.told(viewer)
            table.game._past[-1] = truth
            assert again == told
            assert all(place.key not in json.dumps(told) for place in table.seats)


def test_what_is_known_in_skull_king_names_voids_and_cards(monkeypatch):
    """Two worlds of three seats: seat 1 holds card 2 in one of them; seat 2 has no Parrot."""
    hands = np.full((2, 3, 10), -1)
    hands[0, 1, 0] = 2
    monkeypatch.setattr(players, "_sampled", lambda *question: types.SimpleNamespace(hand=hands))
    state = types.SimpleNamespace(voids=np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]], bool))
    known = players.beliefs(jaxgames.make("skullking", num_players=3))(0, state, 0)
    assert known.columns == ["seat 1", "seat 2", "nobody"]
    assert known.rows == [("void in Parrot", [0.0, 1.0, 0.0]), (card_name(2), [0.5, 0.0, 0.5])]


def test_two_people_have_links_of_their_own(client):
    message = OPEN | {"seats": ["person", "rule", "person", "rule"]}
    with socket(client) as one, socket(client) as other:
        links = sit(one, message)
        assert set(links) == {"0", "2"}
        assert links["0"] != links["2"]
        ask(other, type="sit", key=links["2"])
        assert hear(other, "table")["seat"] == 2
        ask(other, type="undo")
        assert "take" in hear(other, "error")["text"]
        ask(other, type="sit", key="x" * 24)
        assert "opens no seat" in hear(other, "error")["text"]


def test_too_many_messages_at_once_are_refused_and_the_page_lives_on(client):
    with socket(client) as page:
        for _ in range(1000):
            page.send_text("nonsense")
        answers = [hear(page, "error")["text"] for _ in range(1000)]
        assert any("too many" in text for text in answers)


def test_every_game_can_be_offered():
    about = server.about_games()
    assert set(about) == {"magictrick", "saboteur", "schafkopf", "skullking", "skyjo"}
    assert about["skyjo"]["players"] == [2, 3, 4, 5, 6, 7, 8]
    for game, offered in about.items():
        for offer in offered["agents"]:
            number = {} if offer["num_players"] is None else {"num_players": offer["num_players"]}
            env = jaxgames.make(game, **number, **offer["options"])
            assert callable(agents.make(offer["spec"], env)), offer
            assert offer["strength"]
