"""The server of the table: who may ask, what a seat is told, and what happens to bad messages."""

import json

import pytest

starlette = pytest.importorskip("starlette")

from jaxgames import host  # noqa: E402
from jaxgames.options import UserError  # noqa: E402
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


@pytest.mark.parametrize("spec", ["ppo:/etc/passwd", "ppo:../runs/x", "ppo:runs/x", "pimc:" + "1" * 100])
def test_agents_are_named_not_loaded_from_a_path(spec):
    import jaxgames

    with pytest.raises(UserError):
        players.player(jaxgames.make("schafkopf"), spec)


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
    import jaxgames

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
    import agents
    import jaxgames

    for game, offered in about.items():
        env = jaxgames.make(game)
        for offer in offered["agents"]:
            assert callable(agents.make(offer["spec"], env)), offer
            assert offer["strength"]
