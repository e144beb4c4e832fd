"""Eight fills that stay apart under protanopia, deuteranopia and tritanopia, and one pattern for each.

Every pair differs by more than 12 (CIEDE2000) to normal and to simulated colour-deficient sight, and the ink has a
contrast above 5.5 to 1 on each (tests/python/test_layout_colors.py). Colour is never alone: cells carry their text, and
each class its own pattern.
"""

INK = "#15181c"
PALETTE = ("#f5eacf", "#97aeff", "#c0d471", "#d672b3", "#86f3f5", "#979a36", "#daafbc", "#43a57e")

# Strokes of one 8 x 8 pattern cell per class, as SVG path data.
PATTERNS = (
    "", "M-1 9L9 -1M-1 1L1 -1M7 9L9 7", "M2 2h.01M6 6h.01", "M-1 -1L9 9M7 -1L9 1M-1 7L1 9",
    "M0 4H8", "M4 0V8", "M-1 9L9 -1M-1 -1L9 9", "M0 4H8M4 0V8",
)  # fmt: skip


def svg_patterns(prefix="p") -> str:
    """<pattern> definitions, ids prefix0 to prefix7: fill and strokes of each class."""
    out = []
    for i, (fill, path) in enumerate(zip(PALETTE, PATTERNS)):
        stroke = f'<path d="{path}" stroke="{INK}" stroke-opacity=".22" stroke-linecap="round" fill="none"/>'
        out.append(f'<pattern id="{prefix}{i}" width="8" height="8" patternUnits="userSpaceOnUse">'
                   f'<rect width="8" height="8" fill="{fill}"/>{stroke if path else ""}</pattern>')  # fmt: skip
    return "".join(out)


def css_classes() -> str:
    """Rules .c0 to .c7: fill, and the pattern as an image in the rule itself (nothing is loaded)."""
    rules = []
    for i, (fill, path) in enumerate(zip(PALETTE, PATTERNS)):
        image = (
            "url(\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='8' height='8'%3E"
            f"%3Cpath d='{path}' "
            f"stroke='%2315181c' stroke-opacity='.22' stroke-linecap='round' fill='none'/%3E%3C/svg%3E\")"
        )
        rules.append(f".c{i}{{background-color:{fill};background-image:{image if path else 'none'}}}")
    return "\n".join(rules)


def ansi(text, index) -> str:
    """`text` on the fill of a class, for terminals with 24-bit colour."""
    (r, g, b), (x, y, z) = _rgb(PALETTE[index]), _rgb(INK)
    return f"\x1b[48;2;{r};{g};{b};38;2;{x};{y};{z}m{text}\x1b[0m"


def _rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
