"""What a dispatch rule receives: the call and the context, with the fields read once.

Both wrap FFI objects (`tx.TilePrimitiveCall`, `tx.DispatchContext`); reading a field of those costs a
call into C++, so the wrappers keep what rules ask for again and again.
"""

from __future__ import annotations

from functools import cached_property

from .. import arith, scope  # noqa: F401  (the classes of a context's fields)
from ..errors import DispatchError, Location, TypeMismatch
from ..ir import BufferRegion
from .builder import Builder, expr_text
from .operand import Operand
from .primitives import CATALOGUE, signature


class TileCall:
    """A tile primitive call.

    op, scope (the written prefix or ""), dispatch (forced variant or ""), config (dict), workspace
    (dict of buffers), args (in the order of the primitive's signature), span.
    """

    __slots__ = ("node", "op", "args", "scope", "dispatch", "config", "workspace", "span", "names",
                 "_operands")  # fmt: skip

    def __init__(self, node):
        self.node, self.op, self.span = node, str(node.op), node.span
        self.args = list(node.args)
        self.scope, self.dispatch = str(node.scope), str(node.dispatch)
        self.config = {str(k): v for k, v in node.config.items()}
        self.workspace = {str(k): v for k, v in node.workspace.items()}
        self.names = signature(self.op, len(self.args))
        self._operands = {}

    def arg(self, name, default=None):
        """The argument called `name` in the primitive's signature."""
        if name not in self.names:
            return default
        value = self.args[self.names.index(name)]
        return default if value is None else value

    def region(self, name) -> BufferRegion:
        """The operand `name`; a user error when it is not a buffer region."""
        value = self.arg(name)
        if not isinstance(value, BufferRegion):
            raise self.error(
                TypeMismatch, f"{self.op}: {name} must be a buffer or a slice of one",
                code="operand-not-a-buffer", found=type(value).__name__, required="a buffer region",
            )  # fmt: skip
        return value

    def operand(self, name) -> Operand:
        """The region `name` as an Operand (built once per call)."""
        if name not in self._operands:
            self._operands[name] = Operand(name, self.region(name))
        return self._operands[name]

    def operands(self, *names) -> list:
        """Several operands by name."""
        return [self.operand(n) for n in names]

    def regions(self) -> list:
        """Every operand that is a region, in order."""
        return [self.operand(n) for n, a in zip(self.names, self.args) if isinstance(a, BufferRegion)]

    @property
    def primitive(self):
        """The row of the catalogue, or None for an unknown name."""
        return CATALOGUE.get(self.op)

    @property
    def written(self) -> tuple:
        """Names of the operands that the primitive writes."""
        return self.primitive.out if self.primitive else ()

    def builder(self) -> Builder:
        """A statement factory at this call's span."""
        return Builder(self.span)

    def error(self, cls, message, **fields):
        """An error of class `cls` at this call."""
        return cls(message, span=self.span, **fields)

    @property
    def location(self):
        """errors.Location of the call or None."""
        return Location.of(self.span)

    def text(self) -> str:
        """`cta.copy(dst=float16[32, 32] shared, src=float16[32, 32] global)`"""
        parts = [f"{n}={_arg_text(a)}" for n, a in zip(self.names, self.args) if a is not None]
        prefix = f"{self.scope}." if self.scope else ""
        return f"{prefix}{self.op}({', '.join(parts)})"


def _arg_text(value) -> str:
    if isinstance(value, BufferRegion):
        squeezed = set(value.squeezed)
        dims = [expr_text(r.extent) for i, r in enumerate(value.region) if i not in squeezed]
        return f"{value.buffer.dtype}[{', '.join(dims)}] {value.buffer.scope}"
    text = expr_text(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _field(name, doc):
    prop = cached_property(lambda self: getattr(self.node, name))
    prop.__doc__ = doc
    return prop


class TileContext:
    """Where a call stands: target, scope, team and the facts that hold there.

    Lists to append to: `allocs` (private buffers, allocated at the start of the kernel),
    `device_init` and `host_init` (statements run once). `emits()` and `covers()` fill the decision record.
    """

    def __init__(self, node):
        self.node = node
        self.instructions: list = []
        self.coverage = ""
        self.notes: list = []
        self.predictions: list = []

    target = _field("target", "ir Target")
    analyzer = _field("analyzer", "arith.Analyzer with loop variables, lets, scope ids and conditions bound")
    inter = _field("inter", "TileLayout of the teams in the active set (paper 4.2)")
    intra = _field("intra", "TileLayout of the threads in one team (paper 4.2)")
    team_size = _field("team_size", "threads of one full team")
    active = _field("active", "active threads in one team")
    full = _field("full", "active == team_size, without holes")
    thread_index = _field("thread_index", "linear thread index in the CTA")
    thread_in_team = _field("thread_in_team", "0 .. active-1")
    lane = _field("lane", "thread_index % 32")
    warp = _field("warp", "thread_index // 32")
    num_threads = _field("num_threads", "threads per CTA")
    launch = _field("launch", "launch parameters by name")
    allocs = _field("allocs", "private buffers, allocated at the start of the kernel")
    device_init = _field("device_init", "statements at the start of the kernel")
    host_init = _field("host_init", "statements before the launch")

    @cached_property
    def scope(self) -> str:
        """Resolved scope: "thread", "warp", "warpgroup", "cta" or "cluster"."""
        return str(self.node.scope)

    @cached_property
    def kind(self) -> str:
        """Target kind, e.g. "cuda"."""
        return str(self.target.kind)

    @cached_property
    def arch(self) -> str:
        """Target architecture, e.g. "sm_90a"."""
        return str(self.target.arch)

    @cached_property
    def features(self) -> frozenset:
        """Capabilities of the target."""
        return frozenset(str(f) for f in self.target.features)

    def has(self, feature: str) -> bool:
        """Whether the target has a capability."""
        return feature in self.features

    def local_view(self, buffer):
        """Flat buffer over this thread's own storage of a register buffer, indexed by memory coordinate."""
        return self.node.local_view(buffer)

    def emits(self, instruction: str, count=1, per="thread") -> None:
        """Record: `count` executions of `instruction` per thread (or warp)."""
        self.instructions.append({"instruction": instruction, "count": count, "per": per})

    def covers(self, proof: str) -> None:
        """Record the argument that every destination element is written exactly once."""
        self.coverage = proof

    def note(self, text: str) -> None:
        """Record a remark for explain()."""
        self.notes.append(text)

    def predicts(self, compute) -> None:
        """Record bank conflicts for explain(): `compute()`, called only then, gives what conflicts.predict does."""
        self.predictions.append(compute)


def forced_error(call, rule, reason):
    """The error of a `dispatch=` whose variant does not accept the call."""
    return call.error(
        DispatchError, f"dispatch={call.dispatch!r} cannot lower this {call.op}",
        code="forced-variant-declined", found=f"{call.text()}: {reason}",
        required=f"what {rule.label} needs ({rule.where})",
        hint="leave dispatch= out to let the compiler choose",
    )  # fmt: skip
