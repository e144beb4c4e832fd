"""The palette of drawings: apart under colour deficiency, readable, never alone.

Simulation: Machado, Oliveira, Fernandes 2009 (severity 1, linear RGB). Difference: CIEDE2000 (Sharma, Wu, Dalal 2005).
"""

import itertools
import math

import numpy as np
import pytest

from tirx.layout.show import colors

SIGHT = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}  # fmt: skip
_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)


def linear(colour):
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    t = (_XYZ @ np.clip(rgb, 0, 1)) / (_XYZ @ np.ones(3))
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def ciede2000(x, y):
    (l1, a1, b1), (l2, a2, b2) = x, y
    chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(chroma**7 / (chroma**7 + 25**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = math.degrees(math.atan2(b1, a1)) % 360, math.degrees(math.atan2(b2, a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180
    dh = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    lm, cm = (l1 + l2) / 2, (c1 + c2) / 2
    hm = (h1 + turn / 2) % 360
    t = sum(k * math.cos(math.radians(n * hm + p))
            for k, n, p in ((1, 0, 0), (-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63)))  # fmt: skip
    sl = 1 + 0.015 * (lm - 50) ** 2 / math.sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    turn = math.sin(math.radians(60 * math.exp(-(((hm - 275) / 25) ** 2))))
    rt = -2 * math.sqrt(cm**7 / (cm**7 + 25**7)) * turn
    dl, dc, dh = (l2 - l1) / sl, (c2 - c1) / sc, dh / sh
    return math.sqrt(dl * dl + dc * dc + dh * dh + rt * dc * dh)


def contrast(a, b):
    """WCAG 2 contrast ratio."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_against_published_pairs():
    """Sharma, Wu, Dalal 2005, table 1, pairs 1, 5, 17 and 25."""
    for x, y, want in [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, -1.1848, -84.8006), (50, 0, -82.7485), 1.0),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ]:
        assert abs(ciede2000(x, y) - want) < 1e-3


@pytest.mark.parametrize("sight", SIGHT)
def test_every_pair_is_apart(sight):
    seen = [lab(np.array(SIGHT[sight]) @ linear(c)) for c in colors.PALETTE]
    worst = min(ciede2000(a, b) for a, b in itertools.combinations(seen, 2))
    assert worst > 12, f"{sight}: {worst:.1f}"


def test_text_is_readable_on_every_fill():
    assert min(contrast(colors.INK, c) for c in colors.PALETTE) > 5.5


def test_no_class_is_told_by_colour_alone():
    assert len(set(colors.PATTERNS)) == len(colors.PALETTE) == 8
    assert all(f".c{i}{{" in colors.css_classes() for i in range(8))
    assert colors.svg_patterns().count("<pattern") == 8
