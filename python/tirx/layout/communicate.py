"""The communication that turns one distributed placement into another, and what it moves.

Steps, each along digits of the device number (a group is the devices that differ in those digits only):

    local slice         copies become shards: every device keeps its part
    local mask          copies or shards become summands: neutral elements elsewhere
    local copy          same elements, another order in memory
    all-gather          shards become copies
    all-to-all          shards of one digit of the tensor become shards of another
    reduce-scatter      summands become shards
    all-reduce          summands become copies
    collective-permute  parts move whole: devices are only renumbered

The plan has the fewest bytes in total, then the fewest steps, over all sequences of these steps in which each device
digit is in its first, its last or the copied state. Bytes are those of ring algorithms, per device, with n devices
per group and B bytes on a device before the step: all-gather sends (n - 1) B, reduce-scatter and all-to-all (n - 1) B
/ n, all-reduce 2 (n - 1) B / n (rounded up), a permutation B where the part changes its device; as much is
received. `lower_bound` is what no algorithm can avoid: the bytes of elements that a device needs and has not.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from math import gcd, prod

from .definition import equivalent
from .given import bits_of, instance, refuse
from .mesh import Placement
from .sharding import Atom, compatible, refined

LARGEST = 6  # digits that change; the plan is searched over at most 3^LARGEST states
_KINDS = {
    ("shard", "copy"): "all-gather", ("copy", "shard"): "local slice", ("shard", "shard"): "all-to-all",
    ("pending", "shard"): "reduce-scatter", ("pending", "copy"): "all-reduce",
    ("copy", "pending"): "local mask", ("shard", "pending"): "local mask",
}  # fmt: skip
_NEUTRAL = ("sum", "product", "max", "min")  # reductions with an element that changes nothing


@dataclass(frozen=True)
class Step:
    """One collective or local step.

    kind; digits: ((extent, stride), ...) of the device number, empty for a permutation; before, after:
    Placements; groups: lists of devices, in the order of the digits; moves: for a permutation {destination:
    source}; sent, received: {device: bytes}; mesh_dims: labels of the mesh dimensions, when the placement has a mesh.
    """

    kind: str
    digits: tuple
    before: Placement
    after: Placement
    groups: tuple
    moves: dict
    sent: dict
    received: dict
    mesh_dims: tuple

    def __str__(self):
        over = f" over {', '.join(self.mesh_dims)}" if self.mesh_dims else ""
        if not over and self.digits:
            over = " over " + ", ".join(f"{n}:{s}@pid" for n, s in self.digits)
        return f"{self.kind}{over}: {max(self.sent.values(), default=0)} per device"


@dataclass(frozen=True)
class Communication:
    """steps: in order, empty for none; lower_bound: {device: bytes it needs and has not}; unit: "bytes", or
    "elements" when no dtype was given."""

    steps: tuple
    lower_bound: dict
    unit: str

    @property
    def name(self) -> str:
        """`none`, `all-gather`, `all-gather then local slice`, ..."""
        return " then ".join(s.kind for s in self.steps) or "none"

    @property
    def sent(self) -> dict:
        """Per device, over all steps."""
        return _added(s.sent for s in self.steps)

    @property
    def received(self) -> dict:
        """Per device, over all steps."""
        return _added(s.received for s in self.steps)

    def __str__(self):
        lines = [f"{self.name}: {sum(self.sent.values())} {self.unit} in total, "
                 f"at least {sum(self.lower_bound.values())} by any algorithm"]  # fmt: skip
        return "\n".join(lines + [f"  {s}" for s in self.steps])


def _added(tables):
    out: dict = {}
    for table in tables:
        for device, n in table.items():
            out[device] = out.get(device, 0) + n
    return out


def communication(src, dst, dtype=None) -> Communication:
    """What turns placement `src` into `dst` of the same tensor; counts in bytes of `dtype`, or in elements.

    LayoutError: other shapes, other numbers of devices, no sequence of the steps above ("no-plan").
    """
    if instance(src, Placement, "the source").shape != instance(dst, Placement, "the destination").shape:
        refuse("the placements are of different tensors", "size-mismatch", f"{src.shape} and {dst.shape}",
               "one shape")  # fmt: skip
    unit = 1 if dtype is None else _bytes(dtype)
    plan = _Plan(src, dst)
    steps = [_step(plan, *edge, unit) for edge in plan.search()]
    steps = [s for s in steps if s is not None]
    if steps:
        steps[-1] = Step(**{**vars(steps[-1]), "after": dst})
    elif not equivalent(src.layout, dst.layout):
        idle = dict.fromkeys(src.devices(), 0)
        steps = [Step("local copy", (), src, dst, (), {}, idle, idle, ())]
    return Communication(tuple(steps), plan.lower_bound(unit), "elements" if dtype is None else "bytes")


def _bytes(dtype) -> int:
    bits = bits_of(dtype)
    if bits % 8:
        refuse("elements that travel are whole bytes", "bad-dtype", f"{dtype}", "a multiple of 8 bits")
    return bits // 8


# ---- contents: what a device holds ----


class _Cells:
    """The tensor cut into equal cells per dimension, such that every placement in the plan holds whole cells. What a
    device holds is a product over dimensions; each factor is a bit mask of cells."""

    def __init__(self, shape, atoms):
        weights = [[a.role[2] for a in atoms if a.role[:2] == ("shard", d)] for d in range(len(shape))]
        self.shape, self.units = shape, [gcd(n, *w) if w else n for n, w in zip(shape, weights)]
        self._masks: dict = {}

    def held(self, system, roles, device):
        """(mask per dimension, {pending digit: value}) of a device in a state."""
        digits = system.digits(device)
        masks = []
        for d in range(len(self.shape)):
            mine = tuple((r[2], a.extent, x) for a, r, x in zip(system.atoms, roles, digits)
                         if r[:2] == ("shard", d))  # fmt: skip
            masks.append(self._mask(d, mine))
        tags = tuple((a.extent, a.stride, r[1], x) for a, r, x in zip(system.atoms, roles, digits)
                     if r[0] == "pending")  # fmt: skip
        return tuple(masks), tags

    def _mask(self, d, digits) -> int:
        if (d, digits) not in self._masks:
            unit, mask = self.units[d], 0
            for cell in range(self.shape[d] // unit):
                if all(cell * unit // w % n == x for w, n, x in digits):
                    mask |= 1 << cell
            self._masks[d, digits] = mask
        return self._masks[d, digits]

    def count(self, masks) -> int:
        """Elements in a product of cell sets."""
        return prod(m.bit_count() * u for m, u in zip(masks, self.units))


class _System:
    """A numbering of the devices by digits."""

    def __init__(self, placement, atoms):
        self.placement, self.first = placement, placement.first
        self.atoms = [a for a in atoms if a.extent > 1]
        self.devices = {}
        for values in itertools.product(*[range(a.extent) for a in self.atoms]):
            self.devices[self.first + sum(x * a.stride for x, a in zip(values, self.atoms))] = values

    def digits(self, device):
        """The digits of a device."""
        return self.devices[device]

    def groups(self, which) -> tuple:
        """The devices that differ in the digits `which` only, in order of those digits."""
        out: dict = {}
        for device, values in sorted(self.devices.items(), key=lambda it: [it[1][k] for k in which]):
            rest = tuple(x for k, x in enumerate(values) if k not in which)
            out.setdefault(rest, []).append(device)
        return tuple(sorted(out.values()))


# ---- the plan ----


class _Plan:
    """The states that a plan may pass, (system, role per digit), and the cheapest way through them."""

    def __init__(self, src, dst):
        self.src, self.dst = src, dst
        self.shape = src.shape
        ours, theirs = self._common()
        self.same = ours is not None
        if self.same:
            self.systems = [_System(src, ours)]
            ends = [[a.role for a in list_ if a.extent > 1] for list_ in (ours, theirs)]
            self.start, self.goal = (0, tuple(ends[0])), (0, tuple(ends[1]))
            self.roles = [[_choices(r, t) for r, t in zip(*ends)]]
        else:
            self.systems = [_System(p, p.atoms) for p in (src, dst)]
            self.start, self.goal = [(k, tuple(a.role for a in s.atoms)) for k, s in enumerate(self.systems)]
            self.roles = [[_choices(a.role, ("copy",)) for a in s.atoms] for s in self.systems]
        if any(sum(len(c) > 1 for c in roles) > LARGEST for roles in self.roles):
            refuse("too many digits of the device number change at once", "no-plan",
                   f"{len(self.systems[0].atoms)} digits", f"{LARGEST} at most")  # fmt: skip
        self.cells = _Cells(self.shape, [*src.atoms, *dst.atoms])
        self._holds: dict = {}
        self.states = [(k, roles) for k in range(len(self.systems)) for roles in self._states(k)]
        self._twins: dict = {}
        for state in self.states:
            self._twins.setdefault(self._key(state), []).append(state)

    def _common(self):
        """Both placements' atoms over one set of digits, or (None, None)."""
        if self.src.first != self.dst.first or self.src.devices() != self.dst.devices():
            return None, None
        strides = [p.stride for p in (*self.src.atoms, *self.dst.atoms)]
        strides += [a.stride * a.extent for a in (*self.src.atoms, *self.dst.atoms)]
        ours, theirs = refined(self.src.atoms, strides), refined(self.dst.atoms, strides)
        if (
            ours is None
            or theirs is None
            or [(a.extent, a.stride) for a in ours] != [(a.extent, a.stride) for a in theirs]
        ):
            return None, None
        return ours, theirs

    def _states(self, k):
        atoms = self.systems[k].atoms
        for roles in itertools.product(*self.roles[k]):
            ops = {r[1] for r in roles if r[0] == "pending"}
            if compatible(self.shape, [(a.extent, r) for a, r in zip(atoms, roles)]) and (
                len(ops) < 2 or ops == {"sum", "avg"}
            ):
                yield roles

    def holds(self, state):
        """{device: (masks, pending digits)}"""
        if state not in self._holds:
            k, roles = state
            system = self.systems[k]
            self._holds[state] = {d: self.cells.held(system, roles, d) for d in sorted(system.devices)}
        return self._holds[state]

    def _key(self, state):
        return tuple(sorted(self.holds(state).values()))

    def local(self, state) -> int:
        """Elements on a device."""
        k, roles = state
        cut = prod(a.extent for a, r in zip(self.systems[k].atoms, roles) if r[0] == "shard")
        return prod(self.shape) // cut

    def search(self):
        """[(state, kind, digits, next state)] of the cheapest plan (Dijkstra)."""
        best, queue, came = {self.start: (0, 0)}, [((0, 0), 0, self.start)], {}
        serial = itertools.count(1)
        while queue:
            cost, _, state = heapq.heappop(queue)
            if state == self.goal:
                return _path(came, state)
            if cost > best[state]:
                continue
            for kind, which, other in self._edges(state):
                new = (cost[0] + self._cost(state, kind, which, other), cost[1] + 1)
                if other not in best or new < best[other]:
                    best[other], came[other] = new, (state, kind, which)
                    heapq.heappush(queue, (new, next(serial), other))
        return refuse("no sequence of collectives leads from one placement to the other", "no-plan",
                      f"{self.src} to {self.dst}",
                      "placements over one set of devices, and reductions that are not renumbered")  # fmt: skip

    def _edges(self, state):
        k, roles = state
        for other in self.states:
            if other[0] == k and other != state:
                found = _change(self.shape, self.systems[k].atoms, roles, other[1])
                if found:
                    yield *found, other
        for other in self._twins[self._key(state)]:
            if other != state:
                yield "collective-permute", (), other

    def _cost(self, state, kind, which, other) -> int:
        """Elements sent by all devices together."""
        if kind == "collective-permute":
            return self.local(state) * len([d for d, s in self.moves(state, other).items() if d != s])
        n = prod(self.systems[state[0]].atoms[i].extent for i in which)
        return ring(kind, n, self.local(state)) * len(self.holds(state))

    def moves(self, state, other) -> dict:
        """{destination: source}: devices keep what they have where they can."""
        have, need = self.holds(state), self.holds(other)
        out = {d: d for d, what in need.items() if have.get(d) == what}
        free: dict = {}
        for d, what in have.items():
            if d not in out:
                free.setdefault(what, []).append(d)
        for d, what in need.items():
            if d not in out:
                out[d] = free[what].pop(0)
        return dict(sorted(out.items()))

    def placement(self, state) -> Placement:
        """A state as a Placement with compact local memory."""
        k, roles = state
        if state == self.start:
            return self.src
        system = self.systems[k]
        atoms = [Atom(a.extent, a.stride, r) for a, r in zip(system.atoms, roles)]
        return Placement.of(self.shape, atoms, system.first, system.placement.mesh)

    def lower_bound(self, unit) -> dict:
        """{device: what it needs and has not}. A reduction that is carried out brings every element; one that is
        still to come can be met without any."""
        have, need, out = self.holds(self.start), self.holds(self.goal), {}
        for d, (masks, tags) in need.items():
            mine, mine_tags = have.get(d, ((0,) * len(masks), ()))
            both = [a & b for a, b in zip(masks, mine)]
            if set(tags) - set(mine_tags):
                lacks = 0
            elif set(mine_tags) - set(tags):
                lacks = self.cells.count(masks)
            else:
                lacks = self.cells.count(masks) - self.cells.count(both)
            out[d] = lacks * unit
        return out


def _choices(src, dst):
    """The roles that a digit may have on the way."""
    return [src] if src == dst else list(dict.fromkeys([src, dst, ("copy",)]))


def _path(came, state):
    steps = []
    while state in came:
        before, kind, which = came[state]
        steps.append((before, kind, which, state))
        state = before
    return steps[::-1]


def _change(shape, atoms, roles, others):
    """(kind, digits) when one step turns roles into others."""
    which = tuple(i for i, (r, t) in enumerate(zip(roles, others)) if r != t)
    kinds = {_KINDS.get((roles[i][0], others[i][0])) for i in which}
    if len(kinds) != 1 or None in kinds:
        return None
    (kind,) = kinds
    if kind == "local mask" and not all(_maskable(roles[i], others[i]) for i in which):
        return None
    if kind in ("all-to-all", "reduce-scatter"):  # the new digits divide what each device holds now
        held = [(a.extent, r) for a, r in zip(atoms, roles) if r[0] == "shard"]
        if not compatible(shape, held + [(atoms[i].extent, others[i]) for i in which]):
            return None
    return kind, which


def _maskable(role, other) -> bool:
    return other[1] in _NEUTRAL or (other[1] == "avg" and role[0] == "copy")


def ring(kind, n, held) -> int:
    """What each of n devices in a group sends, in elements (rounded up), with `held` elements on it."""
    if kind == "all-gather":
        return (n - 1) * held
    if kind in ("reduce-scatter", "all-to-all"):
        return held - held // n
    return -(-2 * (n - 1) * held // n) if kind == "all-reduce" else 0


def _step(plan, state, kind, which, other, unit):
    """The Step of one edge, or None when nothing moves."""
    devices, system = sorted(plan.holds(other)), plan.systems[state[0]]
    before, after = plan.placement(state), plan.placement(other)
    if kind == "collective-permute":
        moves = plan.moves(state, other)
        away = [(d, s) for d, s in moves.items() if d != s]
        if not away:
            return None
        sent = dict.fromkeys([*plan.holds(state), *devices], 0)
        received, part = dict(sent), plan.local(state) * unit
        for d, s in away:
            sent[s], received[d] = sent[s] + part, received[d] + part
        return Step(kind, (), before, after, (), moves, sent, received, ())
    digits = tuple((system.atoms[i].extent, system.atoms[i].stride) for i in which)
    each = dict.fromkeys(devices, ring(kind, prod(n for n, _ in digits), plan.local(state)) * unit)
    return Step(
        kind, digits, before, after, system.groups(which), {}, each, dict(each), _labels(before, digits)
    )


def _labels(placement, digits):
    """The mesh dimensions that the digits lie in."""
    mesh = placement.mesh
    if mesh is None:
        return ()
    out = []
    for _, stride in digits:
        for k, iters in enumerate(mesh.dims):
            if any(s <= stride < s * n for n, s in iters) and mesh.label(k) not in out:
                out.append(mesh.label(k))
    return tuple(out)
