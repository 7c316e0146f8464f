"""A real browser at a real server of the table, for the tests of the page and its screenshots."""

import contextlib
import shutil
import socket
import threading
import time
from collections.abc import Iterator

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from web import server

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PATIENCE = 180_000  # milliseconds: a busy machine compiles slowly
MOVES = ".felt [data-action], .moves [data-action]"
PRESSABLE = f"{MOVES}, .felt [data-pick]"


@contextlib.contextmanager
def serving(pace: float = 0.0) -> Iterator[tuple[str, object]]:
    """(address, application) of a server that runs in a thread."""
    listening = socket.create_server(("127.0.0.1", 0))
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    app = server.make_app(frozenset({host}), pace=pace)
    running = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws_max_size=400_000))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    try:
        yield f"http://{host}/", app
    finally:
        running.should_exit = True
        thread.join(timeout=10)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def deal(page: Page, address: str, game: str, seats: list[str], **options: object) -> None:
    """Fill in the lobby and press Deal; returns when it is somebody's move at the table."""
    page.goto(f"{address}#game={game}")
    page.reload()  # an address that differs behind the # alone is not fetched again
    page.locator("#count").select_option(str(len(seats)))
    for seat, spec in enumerate(seats):
        page.locator(f"#seat{seat}").select_option(spec)
    if options:
        page.get_by_text("Rules and options").click()
    for name, value in options.items():
        field = page.locator(f"#option-{name}")
        if isinstance(value, bool):
            field.set_checked(value)
        else:
            field.fill(str(value))
    page.get_by_role("button", name="Deal").click()
    page.locator(".felt svg").wait_for()


def wait_for_turn(page: Page, after: int = -1) -> bool:
    """Wait until this seat is to move at a step after `after`, or the game is over; True if it is to move."""
    page.wait_for_function(
        """after => {
            const table = document.querySelector(".felt")?.dataset ?? {};
            return table.over === "true" || (table.mine === "true" && Number(table.step) > after);
        }""",
        arg=after,
    )
    return page.locator(".felt").get_attribute("data-over") == "false"


def standing(page: Page) -> tuple[int, bool]:
    """How many moves have been made, and whether this seat is to move, as the page shows it."""
    table = page.evaluate("() => ({ ...document.querySelector('.felt')?.dataset })")
    return int(table.get("step", -1)), table.get("mine") == "true"


def step(page: Page) -> int:
    return standing(page)[0]


def click_a_move(page: Page, choice: int = 0) -> None:
    """Make the move that is the `choice`-th to be pressed (modulo their number), after picking if one must."""
    for selector in (PRESSABLE, MOVES):  # a pick is followed by one of the moves that it shows
        visible = page.locator(selector).locator("visible=true")
        chosen = visible.nth(choice % visible.count())
        is_move = chosen.get_attribute("data-action") is not None
        chosen.click()
        if is_move:
            return


def play_by_clicking(page: Page) -> int:
    """Play until the game is over; how many moves were made here."""
    made, last = 0, -1
    while wait_for_turn(page, last):
        last = step(page)
        click_a_move(page, made)
        made += 1
    return made
