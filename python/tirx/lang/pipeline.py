"""State of a ring of buffers."""

from __future__ import annotations

from ..script import t as T  # noqa: N812


@T.meta_class
class PipelineState:
    """Position in a ring of `depth` stages: `stage` (0..depth-1) and `phase`, which flips on each wrap.

    phase: the initial phase; left out, `init` must be called before use.
    """

    def __init__(self, depth, phase=None):
        self.stage = T.local_scalar("int32")
        self.phase = T.local_scalar("int32")
        self.depth = depth
        if phase is not None:
            self.init(phase)

    @T.inline
    def init(self, phase):
        """Back to stage 0 with this phase."""
        self.stage = 0
        self.phase = phase

    @T.inline
    def advance(self):
        """The next stage."""
        if self.depth > 1:
            self.stage = self.stage + 1
            if self.stage == self.depth:
                self.stage = 0
                self.phase = self.phase ^ 1
        else:
            self.phase = self.phase ^ 1
