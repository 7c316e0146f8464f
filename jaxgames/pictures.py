"""What the drawings of all games share."""

import html


def text_picture(text: str) -> str:
    """Lines of text as an SVG."""
    lines = text.splitlines()
    spans = "".join(f'<tspan x="8" dy="16">{html.escape(line) or " "}</tspan>' for line in lines)
    size = f'width="{8 * max(map(len, lines)) + 16}" height="{16 * len(lines) + 16}"'
    body = f'<text font-family="monospace" font-size="13" xml:space="preserve">{spans}</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{body}</svg>'
