"""Open the table: `python -m web --game skyjo --port 8000`."""

import argparse
import pathlib
import threading
import webbrowser

import uvicorn

import jaxgames
from web.server import make_app


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m web", description="A table in your browser, on this machine.")
    parser.add_argument("--game", choices=jaxgames.games(), help="offer this game first")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--no-browser", action="store_true", help="only serve; open the page yourself")
    args = parser.parse_args()
    keep_compilations()
    place = f"http://127.0.0.1:{args.port}/" + (f"#game={args.game}" if args.game else "")
    print(f"The table is at {place}  (Ctrl-C ends it)", flush=True)
    if not args.no_browser:
        threading.Timer(1.0, lambda: webbrowser.open(place)).start()
    hosts = frozenset({f"127.0.0.1:{args.port}", f"localhost:{args.port}"})
    uvicorn.run(make_app(hosts), host="127.0.0.1", port=args.port, log_level="warning", ws_max_size=400_000)


def keep_compilations() -> None:
    """Programs that were compiled once are found again at the next start, in the user's cache folder."""
    import jax

    folder = pathlib.Path.home() / ".cache" / "jaxgames" / "compiled"
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


if __name__ == "__main__":
    main()
