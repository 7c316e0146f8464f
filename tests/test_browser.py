"""The table in a real browser: whole games by mouse and keyboard, several tables, several people, foreign pages."""

import json

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
browser_tools = pytest.importorskip("tests.browser", reason="the page's packages are not installed")
if browser_tools.CHROMIUM is None:
    pytest.skip("no Chromium is installed, so the page was not tried in a browser", allow_module_level=True)

from jaxgames import host, records  # noqa: E402
from tests.browser import (  # noqa: E402
    PATIENCE,
    chromium,
    click_a_move,
    deal,
    play_by_clicking,
    serving,
    standing,
    step,
    wait_for_turn,
)
from web import tables  # noqa: E402

# Short games of every kind: seats and the options that make them short.
SHORT = {
    "schafkopf": (["person", "rule", "rule", "random"], {}),
    "skullking": (["person", "rule:easy", "random"], {"hand_sizes": "[1, 3]"}),
    "skyjo": (["person", "rule"], {"score_limit": 1}),
    "saboteur": (["person", "rule", "random"], {"rounds": 1}),
    "magictrick": (["person", "rule", "random", "random"], {}),
}


@pytest.fixture(scope="module")
def served():
    with serving() as (address, app):
        yield address, app


@pytest.fixture(scope="module")
def address(served):
    return served[0]


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser, address):
    """Open pages as one visitor each, with a memory of their own; whatever a page complains of fails the test."""
    opened, complaints = [], []

    def open_page(**how):
        context = browser.new_context(**how)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.frames_received = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("websocket", lambda ws: ws.on("framereceived", lambda frame: page.frames_received.append(frame)))
        opened.append(context)
        return page

    yield open_page
    for context in opened:
        context.close()
    assert not complaints


def told(page):
    """Every message that the page was sent, in order."""
    return [json.loads(frame) for frame in page.frames_received]


def finished_record(page):
    """The record that the page hands out after the end."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the record").click()
    with open(download.value.path()) as file:
        return records.parse(file.read())


def assert_told_only_what_it_may_know(page, record, seat):
    """Every message of the game is what would have been sent in another world that the seat cannot tell from the true
    one; and the page shows the last of them."""
    env = record.env
    table = tables.Table(env, list(record.players))
    game = host.Game.from_record(record)
    determinize = host.compiled(env).determinize
    positions = list(game._past)
    messages = [message for message in told(page) if message["type"] == "table" and not message.get("waiting")]
    assert {message["step"] for message in messages} == set(range(messages[0]["step"], len(record.actions) + 1))
    shown = None
    for message in messages:
        assert message["seat"] == seat
        truth = positions[message["step"]]
        game._past = [*positions[: message["step"]], truth]
        game.actions = list(record.actions[: message["step"]])
        game._past[-1] = game._position(determinize(message["step"], truth.state, seat), truth.returns)
        table.game = game
        shown = table.told(seat)
        for part in ("picture", "scores", "winners", "moves", "turn", "over"):
            assert shown[part] == message[part], (part, message["step"])
        expected = [
            [int(before.state.current_player), env.action_name(before.state, action, seat)]
            for before, action in zip(positions, game.actions, strict=False)
        ]
        assert message["log"] == expected
    is_same = page.evaluate(
        """picture => {
            const drawn = document.createElement("div");
            drawn.innerHTML = picture;
            for (const name of ["width", "height"]) drawn.firstChild.removeAttribute(name);
            return drawn.innerHTML === document.querySelector(".felt").innerHTML;
        }""",
        shown["picture"],
    )
    assert is_same


@pytest.mark.parametrize("game", SHORT)
def test_a_whole_game_by_clicking_tells_a_seat_nothing_but_what_it_may_know(game, visit, address):
    seats, options = SHORT[game]
    page = visit()
    deal(page, address, game, seats, **options)
    made = play_by_clicking(page)
    assert made > 0
    assert "The game is over" in page.locator(".state").inner_text()
    record = finished_record(page)
    assert record.game == game
    records.check(record)
    last = [message for message in told(page) if message["type"] == "table"][-1]
    own = sum(1 for seat, _ in last["log"] if seat == 0)
    assert own == made
    assert_told_only_what_it_may_know(page, record, 0)
    page.get_by_role("button", name="Play again").click()
    page.wait_for_function("() => document.querySelector('.felt').dataset.over === 'false'")


def test_a_whole_game_with_the_keyboard_alone(visit, address):
    page = visit()
    made = 1
    while made == 1:  # everybody passed: that was no game
        page.goto("about:blank")
        page.goto(f"{address}#game=schafkopf")
        page.locator("#deal").focus()
        page.keyboard.press("Enter")
        made = play_with_keys(page)
    assert made >= 8
    assert "The game is over" in page.locator(".state").inner_text()


def play_with_keys(page):
    """How many moves were made until the end of the game; the third is taken back."""
    made, last = 0, -1
    while wait_for_turn(page, last):
        last = step(page)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        made += 1
        if made == 3:  # U takes back, H asks
            wait_for_turn(page, last)
            before, last = step(page), -1
            page.keyboard.press("u")
            page.wait_for_function(
                "before => Number(document.querySelector('.felt').dataset.step) < before", arg=before
            )
            wait_for_turn(page)
            page.keyboard.press("h")
            page.locator(".bars").wait_for()
    return made


def test_picks_can_be_made_with_the_keyboard(visit, address):
    """Skyjo: first what to do with a card, then where."""
    page = visit()
    deal(page, address, "skyjo", *SHORT["skyjo"][:1], score_limit=1)
    for _ in range(3):
        assert wait_for_turn(page)
        before = step(page)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        if page.locator(".felt svg").get_attribute("data-picked"):
            page.keyboard.press("Enter")
        wait_for_turn(page, before)
        assert step(page) > before


def test_a_reload_in_the_middle_loses_nothing(visit, address):
    page = visit()
    deal(page, address, "schafkopf", SHORT["schafkopf"][0])
    for _ in range(3):
        wait_for_turn(page)
        last = step(page)
        click_a_move(page)
        wait_for_turn(page, last)
    before = (step(page), page.locator(".felt").inner_html(), page.locator(".log").inner_text())
    page.reload()
    wait_for_turn(page)
    assert (step(page), page.locator(".felt").inner_html(), page.locator(".log").inner_text()) == before
    link = page.url
    page.goto(address)  # and who went to the lobby finds the way back
    page.get_by_role("link", name="Schafkopf, ").first.click()
    wait_for_turn(page)
    assert page.url == link
    assert step(page) == before[0]
    play_by_clicking(page)
    assert "The game is over" in page.locator(".state").inner_text()


def test_two_tables_at_once_do_not_mix(visit, address):
    pages = [visit(), visit()]
    for page, game in zip(pages, ("schafkopf", "magictrick"), strict=True):
        deal(page, address, game, SHORT[game][0])
    playing = dict.fromkeys(pages, -1)  # with the step of the last move made there
    while playing:
        for page, last in list(playing.items()):
            if wait_for_turn(page, last):
                playing[page] = step(page)
                click_a_move(page)
            else:
                del playing[page]
    for page, game in zip(pages, ("schafkopf", "magictrick"), strict=True):
        record = finished_record(page)
        assert record.game == game
        records.check(record)
        assert {message["game"] for message in told(page) if message["type"] == "table"} == {game}


def test_two_people_at_one_table_see_their_own_cards(visit, address):
    mine, other = visit(), visit()
    seats = ["person", "rule", "person", "rule"]
    deal(mine, address, "schafkopf", seats)
    link = mine.get_by_label("Link for seat 2").input_value()
    other.goto(link)
    other.locator(".felt svg").wait_for()
    pages = {0: mine, 2: other}
    waiting = {0: -1, 2: -1}
    while mine.locator(".felt").get_attribute("data-over") == "false":
        for seat, page in pages.items():
            now, is_to_move = standing(page)
            if is_to_move and now > waiting[seat]:
                waiting[seat] = now
                click_a_move(page, now)
    wait_for_turn(other)
    record = finished_record(mine)
    assert finished_record(other) == record
    for seat, page in pages.items():
        assert_told_only_what_it_may_know(page, record, seat)
    keys = {link.split("key=")[1].split("&")[0] for link in (mine.url, other.url)}
    assert len(keys) == 2
    assert not any(key in frame for key in keys for frame in other.frames_received)


def test_a_link_that_opens_nothing_says_so(visit, address):
    page = visit()
    page.goto(f"{address}#key={'x' * 24}")
    page.get_by_text("Open a new table").wait_for()
    assert "opens no seat" in page.locator(".state").inner_text()


def test_agents_can_be_watched_and_paused(visit, address):
    page = visit()
    deal(page, address, "magictrick", ["random"] * 4)
    page.wait_for_function("() => Number(document.querySelector('.felt').dataset.step) > 1")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Go on").wait_for()
    assert told(page)[-1]["seat"] is None  # who plays no seat may see all


def test_choosing_a_network_sets_the_options_that_it_was_trained_for(visit, address):
    page = visit()
    page.goto(f"{address}#game=skyjo")
    assert page.locator("#option-action_mode").input_value() == "macro"
    page.locator("#seat1").select_option("ppo:skyjo")
    assert page.locator("#option-action_mode").input_value() == "decision"


def test_a_foreign_page_is_refused(visit, address):
    """A page of another origin can neither read nor open a socket."""
    page = visit()
    page.route("http://foreign.test/", lambda route: route.fulfill(body="<p>not yours</p>", content_type="text/html"))
    page.goto("http://foreign.test/")
    result = page.evaluate(
        """async address => {
            const heard = [];
            const socket = new WebSocket(address.replace("http", "ws") + "socket");
            socket.onopen = () => heard.push("open");
            socket.onmessage = () => heard.push("message");
            await new Promise((done) => { socket.onclose = done; });
            const read = await fetch(address + "games.json").then(() => "read", () => "refused");
            return [heard, read];
        }""",
        address,
    )
    assert result == [[], "refused"]
