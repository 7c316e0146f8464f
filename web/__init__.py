"""The table in a browser: a small server over `jaxgames.host` and `agents`, and its page."""
