"""Open the table: `python -m web --game skyjo --port 8000`."""

import argparse
import threading
import webbrowser

import uvicorn

import jaxgames
from jaxgames.cache import keep_compilations
from jaxgames.options import UserError
from web import players
from web.server import make_app


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m web", description="A table in your browser, on this machine.")
    parser.add_argument("--game", choices=jaxgames.games(), help="offer this game first")
    parser.add_argument("--port", type=int, default=8000, help="(default 8000)")
    parser.add_argument("--no-browser", action="store_true", help="only serve; open the page yourself")
    parser.add_argument(
        "--network",
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="a run or checkpoint of your own that can sit at the tables as ppo:NAME; repeatable",
    )
    parser.add_argument(
        "--pace", type=float, default=0.4, metavar="SECONDS", help="the least an agent takes for a move (default 0.4)"
    )
    args = parser.parse_args()
    try:
        for text in args.network:
            name, _, folder = text.partition("=")
            players.admit(name, folder)
    except UserError as error:
        parser.exit(2, f"web: {error}\n")
    keep_compilations()
    place = f"http://127.0.0.1:{args.port}/" + (f"#game={args.game}" if args.game else "")
    print(f"The table is at {place}  (Ctrl-C ends it)", flush=True)
    if not args.no_browser:
        threading.Timer(1.0, lambda: webbrowser.open(place)).start()
    hosts = frozenset({f"127.0.0.1:{args.port}", f"localhost:{args.port}"})
    app = make_app(hosts, pace=args.pace)
    uvicorn.run(app, host="127.0.0.1", port=args.port, log_level="warning", ws_max_size=400_000)


if __name__ == "__main__":
    main()
