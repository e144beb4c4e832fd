"""CUDA: capability table, instruction declarations, dispatch rules, NVRTC and the driver.

Importing this module costs nothing beyond the capability table; the rest is imported where it is used.
"""

from .arch import ARCHS, archs_with, describe

__all__ = ["ARCHS", "archs_with", "describe"]
