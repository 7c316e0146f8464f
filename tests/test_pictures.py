"""Pictures: honest to the letter, sound SVG, every legal move to be pressed and no other; grids and replays."""

import functools
import html
import itertools
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import pictures
from jaxgames.host import Game, compiled
from jaxgames.pictures import svg as drawing
from jaxgames.records import Record

TABLES = {
    "skullking": {"num_players": 3, "hand_sizes": (2, 5, 3)},
    "skyjo": {"num_players": 2, "score_limit": 60},
    "skyjo decision": {"num_players": 3, "action_mode": "decision", "setup_mode": "manual", "score_limit": 60},
    "saboteur": {"num_players": 4, "rounds": 2, "goal_x": 4},
    "saboteur paths": {"num_players": 2, "variant": "paths", "goal_x": 3},
    "schafkopf": {},
    "magictrick": {"num_hands": 2},
}
LARGEST = [("skullking", 6), ("skullking", 5), ("skyjo", 8), ("saboteur", 10), ("skyjo", 4)]
MOST_STEPS = 240


@pytest.fixture(scope="module", params=TABLES)
def game(request):
    """A game of random moves, to its end if it has one soon."""
    env = jaxgames.make(request.param.split()[0], **TABLES[request.param])
    return play(Game(env, seed=5), MOST_STEPS)


def play(game, steps):
    draws = np.random.default_rng(8)
    while not game.is_over and len(game.actions) < steps:
        game.step(int(draws.choice(game.legal)))
    return game


def positions(game, count=16):
    """States from the first to the last."""
    places = np.unique(np.linspace(0, len(game.states) - 1, count).round().astype(int))
    return [game.states[place] for place in places]


@functools.lru_cache(maxsize=4096)
def parsed(text):
    return ElementTree.fromstring(text)


def elements(text, attribute):
    """{value of the attribute: element} of a picture; no value twice."""
    found = [element for element in parsed(text).iter() if attribute in element.attrib]
    by_value = {element.attrib[attribute]: element for element in found}
    assert len(by_value) == len(found)
    return by_value


def words_of(element):
    """The title of a move."""
    (title,) = [child.text for child in element if child.tag.endswith("}title")]
    assert element.attrib["aria-label"] == title
    return title


# -- who sees what -----------------------------------------------------------------------------------------------------


def test_a_seat_sees_the_same_in_every_world_that_it_cannot_tell_apart(game):
    run = compiled(game.env)
    for i, state in enumerate(positions(game)):
        for player in range(game.env.num_players):
            world = run.determinize(i, state, player)
            assert game.env.picture(world, player) == game.env.picture(state, player), (i, player)


def test_whoever_sees_everything_sees_what_is_hidden(game):
    """Else the test above would hold of an empty sheet."""
    run, differs = compiled(game.env), 0
    for i, state in enumerate(positions(game)[:-2]):
        world = run.determinize(i, state, 0)
        differs += game.env.picture(world) != game.env.picture(state)
    assert differs > 4


# -- moves -------------------------------------------------------------------------------------------------------------


def test_every_legal_move_can_be_pressed_by_whoever_may_make_it_and_by_nobody_else(game):
    env, facts = game.env, compiled(game.env).facts
    for state in positions(game, 40):
        mover, is_over = int(state.current_player), bool(state.done)
        legal = [] if is_over else np.flatnonzero(facts(state).mask).tolist()
        for player in (None, *range(env.num_players)):
            moves = elements(env.picture(state, player), "data-action")
            if is_over or player not in (None, mover):
                assert not moves
                assert not elements(env.picture(state, player), "data-pick")
                continue
            assert sorted(map(int, moves)) == legal
            for action, element in moves.items():
                assert words_of(element) == env.action_name(state, int(action), player)
                assert (element.attrib["role"], element.attrib["tabindex"]) == ("button", "0")


def test_a_pick_shows_moves_and_every_hidden_move_has_its_pick(game):
    for state in positions(game, 40):
        text = game.env.picture(state)
        needed = {element.attrib["data-with"] for element in parsed(text).iter() if "data-with" in element.attrib}
        picks = elements(text, "data-pick")
        assert set(picks) == needed
        assert needed <= set(drawing.PICKS), "the style must know the pick"
        assert all(words_of(element) for element in picks.values())


def test_a_picture_to_look_at_has_no_moves(game):
    text = game.env.picture(game.states[3], moves=False)
    assert not elements(text, "data-action")
    assert not elements(text, "data-pick")
    assert parsed(text).attrib["role"] == "img"


# -- sound SVG ---------------------------------------------------------------------------------------------------------


def assert_sound(text):
    """XML with nothing that runs, loads or clashes; every word large enough, nothing beyond the edges."""
    root = parsed(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    for element in root.iter():
        name = element.tag.split("}")[1]
        assert name in {"svg", "style", "title", "desc", "g", "rect", "circle", "path", "text", "tspan"}
        assert not {key for key in element.attrib if key.startswith("on") or "href" in key or key in ("id", "style")}
        assert all(word.startswith("jg") for word in element.attrib.get("class", "").split())
    assert "url(" not in text
    assert "@import" not in text
    assert text.count("http") == text.count('xmlns="http://www.w3.org/2000/svg"')
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for left, top, right, bottom in extents(root, 0, 0):
        assert left > -2
        assert top > -2
        assert right < width + 2
        assert bottom < height + 2


def extents(element, x, y):
    """(left, top, right, bottom) of every rectangle and line of words; widths of words in a wide font."""
    shift = re.match(r"translate\((\S+) (\S+)\)", element.attrib.get("transform", ""))
    if shift:
        x, y = x + float(shift[1]), y + float(shift[2])
    given = {key: float(value) for key, value in element.attrib.items() if re.fullmatch(r"-?[\d.]+", value)}
    name = element.tag.split("}")[1]
    if name == "rect":
        left, top = x + given["x"], y + given["y"]
        yield left, top, left + given["width"], top + given["height"]
    if name == "text":
        size = given["font-size"]
        assert size >= 12, "too small for a phone"
        is_bold = "jg-bold" in element.attrib["class"]
        wide = given.get("textLength", size * drawing._ems(element.text or "", is_bold))
        left = x + given["x"] - wide * {"middle": 0.5, "end": 1}.get(element.attrib.get("text-anchor"), 0)
        yield left, y + given["y"] - 0.8 * size, left + wide, y + given["y"]
    for child in element:
        yield from extents(child, x, y)


def test_pictures_are_sound(game):
    for state in positions(game, 10):
        for player in (None, 0, game.env.num_players - 1):
            assert_sound(game.env.picture(state, player))


@pytest.mark.parametrize(("name", "num_players"), LARGEST)
def test_large_tables_are_sound(name, num_players):
    """From the first state alone: little is compiled."""
    env = jaxgames.make(name, num_players=num_players)
    state = compiled(env).init(3)
    for player in (None, num_players - 1):
        text = env.picture(state, player, moves=False)
        assert_sound(text)
        names = [element.text for element in parsed(text).iter() if "data-seat" in element.attrib]
        assert {f"Seat {seat}" if seat != player else "You" for seat in range(num_players)} <= set(names)


def contrast(one, two):
    """The ratio of WCAG 2, 1..21."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(two)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [drawing._LIGHT, drawing._DARK], ids=["light", "dark"])
def test_words_stand_out(theme):
    colours = dict(re.findall(r"--jg-(\w+):(#\w{6})", theme))
    for words, ground in itertools.product(("ink", "soft"), ("bg", "plate", "felt")):
        assert contrast(colours[words], colours[ground]) >= 4.5, (words, ground)
    assert contrast(colours["ink"], colours["glow"]) >= 4.5
    for ground in ("bg", "plate", "felt", "face"):
        assert contrast(colours["mark"], colours[ground]) >= (3 if ground != "face" else 1.5)
    for name, tone in drawing._TONES.items():
        assert contrast(tone, colours["face"]) >= 4.5, name
    for name, shade in drawing._VALUES.items():
        assert contrast("#ffffff" if name == "low" else "#1c1c1c", shade) >= 4.5, name


# -- where people look -------------------------------------------------------------------------------------------------


def test_a_notebook_shows_a_state_and_a_batch():
    env = jaxgames.make("schafkopf")
    state = compiled(env).init(3)
    shown = pictures.show(env, state, 2)
    assert shown._repr_svg_() == str(shown) == env.picture(state, 2)
    assert env.picture(state, 2) in shown._repr_html_()
    states = [compiled(env).init(seed) for seed in range(5)]
    batch = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    grid = str(pictures.grid(env, batch, player=1, columns=2))
    assert grid == str(pictures.grid(env, states, player=1, columns=2)) == grid
    inner = [element for element in parsed(grid) if element.tag.endswith("}svg")]
    assert [element.attrib["aria-label"] for element in inner] == ["schafkopf, as seat 1 sees it"] * 5
    places = [(float(element.attrib["x"]), float(element.attrib["y"])) for element in inner]
    assert len(set(places)) == 5
    assert len({x for x, _ in places}) == 2
    assert "data-action" not in grid
    assert str(pictures.show(env, batch)) == str(pictures.grid(env, batch))
    assert len(parsed(str(pictures.grid(env, states, most=2)))) == 2


def data_of(page):
    """What a replay page holds, with its pictures put together."""
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    data = json.loads(text)
    for view in data["views"]:
        view["frames"] = ["\n".join(data["lines"][line] for line in frame) for frame in view["frames"]]
    return data


def test_a_replay_shows_every_step_to_everybody_or_to_one_seat(game):
    env, record = game.env, game.record()
    record = Record(**{**vars(record), "players": ["</script><b>Ann", *["Bob"] * (env.num_players - 1)]})
    data = data_of(pictures.replay_html(record))
    assert data["players"][0] == "Seat 0: </script><b>Ann"
    assert [view["name"] for view in data["views"]] == ["everything", *(f"seat {i}" for i in range(env.num_players))]
    for viewer, view in zip((None, *range(env.num_players)), data["views"], strict=True):
        assert len(view["frames"]) == len(view["log"]) + 1 == len(game.states)
        for i in range(0, len(game.states), 17):
            assert view["frames"][i] == env.picture(game.states[i], viewer, moves=False)
        assert view["log"][4].endswith(env.action_name(game.states[4], game.actions[4], viewer))
    page = pictures.replay_html(record, player=1)
    own = data_of(page)
    assert [view["name"] for view in own["views"]] == ["seat 1"]
    assert own["views"][0] == data["views"][2]
    used = set().union(*(frame.split("\n") for frame in own["views"][0]["frames"]))
    assert set(own["lines"]) == used, "no line of another seat's pictures"
    assert not re.search(r"(src|href)\s*=|https?://(?!www\.w3\.org/2000/svg)", page)


def test_a_replay_for_one_seat_does_not_depend_on_what_is_hidden_from_it():
    """Two Schafkopf games that differ in hidden cards alone, after bidding and two tricks: the same page."""
    env = jaxgames.make("schafkopf")
    game = play(Game(env, seed=2), 16)
    seat = (game.player + 1) % 4
    world = compiled(env).determinize(9, game.state, seat)
    deck = [card for hand in world.dealt for card in range(32) if int(hand) >> card & 1]
    other = Game(env, deal={**game.deal, "deck": deck})
    for action in game.actions:
        other.step(action)
    assert (world.dealt != game.state.dealt).any()
    assert pictures.replay_html(other.record(), seat) == pictures.replay_html(game.record(), seat)
    assert pictures.replay_html(other.record()) != pictures.replay_html(game.record())


def test_a_bad_seat_is_refused():
    game = Game(jaxgames.make("schafkopf"))
    with pytest.raises(ValueError, match=r"schafkopf: player must be an integer in 0\.\.3, got 4"):
        pictures.replay_html(game.record(), 4)
    with pytest.raises(ValueError, match=r"schafkopf: player must be an integer in 0\.\.3, got 4"):
        pictures.show(game.env, game.state, 4)


# -- in a browser ------------------------------------------------------------------------------------------------------

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


def run_in_browser(page, script, path):
    """What `script` returns in the page, as the browser says it."""
    told = f'document.body.setAttribute("data-told", JSON.stringify((() => {{ {script} }})()));'
    path.write_text(page.replace("</body>", f"<script>{told}</script></body>"), encoding="utf-8")
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    dump = subprocess.run(
        [BROWSER, *flags.split(), f"--user-data-dir={path.parent / 'profile'}", "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    return json.loads(html.unescape(re.search(r'data-told="([^"]*)"', dump)[1]))


@needs_browser
def test_a_replay_is_stepped_through_by_keys_slider_log_and_choice_of_viewer(tmp_path):
    game = play(Game(jaxgames.make("schafkopf"), seed=2), 16)
    press = 'dispatchEvent(new KeyboardEvent("keydown", {key: "%s", bubbles: true}))'
    script = f"""
        const seen = [], look = () => seen.push(document.getElementById("count").textContent
            + "|" + document.querySelector("#table svg").getAttribute("aria-label")
            + "|" + (document.querySelector("#log [aria-current]")?.textContent ?? ""));
        const body = document.body;
        look();
        body.{press % "ArrowRight"}; body.{press % "ArrowRight"}; look();
        body.{press % "ArrowLeft"}; look();
        body.{press % "End"}; look();
        body.{press % "Home"}; look();
        const slider = document.getElementById("slider");
        slider.value = 5; slider.oninput(); look();
        document.querySelectorAll("#log button")[8].click(); look();
        const viewer = document.getElementById("viewer");
        viewer.value = 3; viewer.onchange(); look();
        document.getElementById("play").click();
        seen.push(document.getElementById("play").textContent);
        return seen;
    """
    said = [
        f"{number}. Seat {int(state.current_player)}: {game.env.action_name(state, action)}"
        for number, state, action in zip(itertools.count(1), game.states, game.actions, strict=False)
    ]
    everything = "schafkopf, all cards open"
    assert run_in_browser(pictures.replay_html(game.record()), script, tmp_path / "replay.html") == [
        f"0 / 16|{everything}|",
        f"2 / 16|{everything}|{said[1]}",
        f"1 / 16|{everything}|{said[0]}",
        f"16 / 16|{everything}|{said[15]}",
        f"0 / 16|{everything}|",
        f"5 / 16|{everything}|{said[4]}",
        f"9 / 16|{everything}|{said[8]}",
        f"9 / 16|schafkopf, as seat 2 sees it|{said[8]}",
        "Pause",
    ]


@needs_browser
def test_moves_appear_with_their_pick_and_the_theme_can_be_forced(tmp_path):
    """The page only has to copy the pick; every move is seen with one of them, and two pictures do not disturb."""
    env = jaxgames.make("skyjo", num_players=2, score_limit=60)
    text = env.picture(compiled(env).init(3))
    script = """
        const [one, two] = document.querySelectorAll("svg");
        const is_shown = move => getComputedStyle(move).display !== "none";
        const shown = svg => [...svg.querySelectorAll("[data-action]")].filter(is_shown);
        const found = [shown(one).length];
        const all = new Set();
        for (const pick of one.querySelectorAll("[data-pick]")) {
            one.dataset.picked = pick.dataset.pick;
            shown(one).forEach(e => all.add(e.dataset.action));
            found.push(shown(one).length);
        }
        const ground = svg => getComputedStyle(svg.querySelector("rect")).fill;
        found.push(all.size, shown(two).length, ground(one));
        one.dataset.theme = "dark";
        found.push(ground(one), ground(two));
        document.documentElement.dataset.theme = "dark";
        return [...found, ground(two)];
    """
    page = f"<!doctype html><html><body>{text}{text}</body></html>"
    light, dark = "rgb(243, 240, 232)", "rgb(18, 22, 27)"
    expected = [0, 12, 12, 10, 34, 0, light, dark, light, dark]
    assert run_in_browser(page, script, tmp_path / "page.html") == expected
