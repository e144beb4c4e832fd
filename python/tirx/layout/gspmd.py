"""Shardings as XLA (GSPMD) and JAX write them, to and from placements.

GSPMD: `{devices=[2,1,4]<=[8] last_tile_dim_replicate}` is an array of devices; the device at position t holds
block t of the tensor, dimension d cut into as many blocks as the array's dimension d. Devices are listed
(`[2,2]0,2,1,3`) or an iota: `[T]<=[D]T(P)` is arange(prod(D)) reshaped to D, transposed by P, reshaped to T. Trailing
dimensions of the array hold copies (`last_tile_dim_replicate`, `last_tile_dims={replicated}`) or summands
(`last_tile_dims={unreduced}`). `{replicated}` and `{maximal device=3}` need no array. (XLA, hlo_sharding.h and
tile_assignment.h; GSPMD paper, section 3.1)

JAX: `P('x', ('y', 'z'), None)` names, per tensor dimension, the mesh axes that cut it, the outermost first; other mesh
axes hold copies, and those in `unreduced={...}` summands.
"""

from __future__ import annotations

import ast
import re
from math import prod

from .given import instance, integer, refuse, sequence
from .mesh import Mesh, Placement, _row_major
from .sharding import merged

_ARRAY = re.compile(
    r"devices=\[(?P<tile>[\d,]+)\](?:(?P<list>\d+(?:,\d+)*)|<=\[(?P<dims>[\d,]+)\](?:T\((?P<perm>[\d,]+)\))?)"
    r"(?:\s+(?P<last>last_tile_dim_replicate|last_tile_dims=\{[\w, ]*\}))?"
)


def _bad(text, why):
    refuse("this is no GSPMD sharding", "bad-notation", f"{text!r}: {why}",
           "{devices=[2,1,4]<=[8] last_tile_dim_replicate} or the like")  # fmt: skip


def from_gspmd(text, shape, devices=None, local="compact") -> Placement:
    """The placement of a tensor of `shape` under a GSPMD sharding. `{replicated}` needs the number of `devices`;
    `local` as in Placement.of. Refuses uneven shards, manual subgroups and device arrays that are no layout."""
    body = instance(text, str, "a GSPMD sharding").strip()
    if not (body.startswith("{") and body.endswith("}")):
        _bad(text, "no braces")
    body = re.sub(r"\s*metadata=\{.*\}", "", body[1:-1]).strip()
    if body == "replicated":
        return _replicated(shape, devices, local)
    if maximal := re.fullmatch(r"maximal device=(\d+)", body):
        return Placement.of(shape, [], int(maximal[1]), None, local)
    found = _ARRAY.fullmatch(body)
    if not found:
        _bad(text, "not a sharding of one tensor over listed devices")
    tile = _ints(found["tile"])
    kinds = _subgroups(text, found["last"])
    if len(tile) != len(shape) + len(kinds):
        _bad(
            text, f"{len(tile)} array dimensions for a tensor of rank {len(shape)} and {len(kinds)} subgroups"
        )
    mesh = _mesh(text, tile, found)
    cuts = [[d] for d in range(len(shape))]
    pending = {len(shape) + k: "sum" for k, kind in enumerate(kinds) if kind == "unreduced"}
    made = Placement.from_assignment(shape, mesh, cuts, pending, local)
    return Placement(made.layout, made.shape, made.pending)


def _replicated(shape, devices, local):
    if not devices:
        refuse("{replicated} does not say over how many devices", "no-mesh", "devices=None", "devices=")
    return Placement.from_assignment(
        shape, Mesh((integer(devices, "the number of devices"),)), [], local=local
    )


def _ints(text) -> list:
    return [int(n) for n in text.split(",") if n]


def _subgroups(text, last) -> list:
    if last is None:
        return []
    if last == "last_tile_dim_replicate":
        return ["replicated"]
    kinds = [k.strip() for k in last[last.index("{") + 1 : -1].split(",") if k.strip()]
    if unknown := [k for k in kinds if k not in ("replicated", "unreduced")]:
        refuse("a subgroup holds copies or summands", "manual-sharding", f"{unknown[0]} in {text}",
               "replicated or unreduced")  # fmt: skip
    return kinds


def _mesh(text, tile, found) -> Mesh:
    if found["list"]:
        return Mesh(tile, devices=_ints(found["list"]))
    dims = _ints(found["dims"])
    perm = _ints(found["perm"]) if found["perm"] else list(range(len(dims)))
    if sorted(perm) != list(range(len(dims))) or prod(dims) != prod(tile):
        _bad(text, "the iota does not fill the array")
    strides = _row_major(dims)
    mesh = Mesh(tile)
    mesh.dims = _split(text, tile, [(dims[p], strides[p]) for p in perm])
    return mesh


def _split(text, tile, iters):
    """The iters (extent, stride), outermost first, by dimension of the array."""
    left, out = _joined(iters), []
    for n in tile:
        mine = []
        while n > 1:
            extent, stride = left.pop(0)
            if n % extent and extent % n:
                refuse("the device array is no layout", "not-a-layout", text, "an iota whose factors nest")
            part = min(extent, n)
            if part > 1:
                mine.append((part, stride * (extent // part)))
            if part < extent:
                left.insert(0, (extent // part, stride))
            n //= part
        out.append(tuple(mine) or ((1, 0),))
    return tuple(out)


def to_gspmd(placement) -> str:
    """The GSPMD text of a placement. Refuses what it cannot say: shards that are not the outermost blocks of
    their dimension, devices that are not 0 .. n-1, reductions other than sum."""
    atoms = merged(instance(placement, Placement, "what is written").atoms)
    if not atoms:
        return f"{{maximal device={placement.first}}}"
    if placement.devices() != list(range(prod(a.extent for a in atoms))):
        refuse(
            "GSPMD numbers its devices from 0", "no-gspmd-form", f"devices {placement.devices()}", "0 .. n-1"
        )
    cuts = [_outermost(placement, d, atoms) for d in range(len(placement.shape))]
    copies, summands = (sorted((a for a in atoms if a.role[0] == kind), key=lambda a: -a.stride)
                        for kind in ("copy", "pending"))  # fmt: skip
    if any(a.role != ("pending", "sum") for a in summands):
        refuse("GSPMD has sums only", "no-gspmd-form", f"{summands[0].role[1]}", "pending sums")
    if not any(cuts) and not summands:
        return "{replicated}"
    groups = [*cuts, *([copies] if copies else []), *([summands] if summands else [])]
    tile = ",".join(str(prod(a.extent for a in g)) for g in groups)
    return f"{{devices=[{tile}]{_iota([(a.extent, a.stride) for g in groups for a in g])}{_last(copies, summands)}}}"


def _last(copies, summands) -> str:
    if not summands:
        return " last_tile_dim_replicate" if copies else ""
    return " last_tile_dims={" + ("replicated, " if copies else "") + "unreduced}"


def _outermost(placement, d, atoms):
    """The digits that cut dimension d, outermost first."""
    mine = sorted((a for a in atoms if a.role[:2] == ("shard", d)), key=lambda a: -a.role[2])
    end = placement.shape[d]
    for a in mine:
        if a.role[2] * a.extent != end:
            refuse("GSPMD shards are the outermost blocks of a dimension", "no-gspmd-form",
                   f"dimension {d} of {placement}", "shards without a memory digit outside them")  # fmt: skip
        end = a.role[2]
    return mine


def _joined(iters) -> list:
    """Iters (extent, stride), outermost first, with neighbours that count as one joined."""
    out = []
    for extent, stride in iters:
        if out and out[-1][1] == extent * stride:
            extent *= out.pop()[0]
        out.append((extent, stride))
    return out


def _iota(iters) -> str:
    """`<=[D]T(P)` for device digits (extent, stride) in the order of the array."""
    joined = _joined(iters)
    order = sorted(range(len(joined)), key=lambda k: -joined[k][1])
    dims = ",".join(str(joined[k][0]) for k in order)
    perm = [order.index(k) for k in range(len(joined))]
    return f"<=[{dims}]" + ("" if perm == sorted(perm) else f"T({','.join(map(str, perm))})")


# ---- JAX ----


def from_partition_spec(spec, shape, mesh, local="compact") -> Placement:
    """From JAX's notation: text (`P('x', ('y', 'z'), None)`) or a sequence of None, names and tuples of names, with a
    Mesh that has names."""
    if isinstance(spec, str):
        entries, unreduced = _read_spec(spec)
    else:
        entries, unreduced = sequence(spec, "a partition spec"), ()
    dims = [() if e is None else (e,) if isinstance(e, str) else tuple(e) for e in entries]
    return Placement.from_assignment(shape, mesh, dims, {name: "sum" for name in unreduced}, local)


def _read_spec(text):
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or ast.unparse(call.func) not in ("P", "PartitionSpec"):
            raise ValueError("no call of P")
        entries = [ast.literal_eval(a) for a in call.args]
        named = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
        flat = [n for e in entries if e is not None for n in ([e] if isinstance(e, str) else e)]
        if set(named) - {"unreduced"} or not all(isinstance(n, str) for n in flat):
            raise ValueError("axis names, None and unreduced= only")
    except (SyntaxError, ValueError, TypeError) as e:
        refuse("this is no partition spec", "bad-notation", f"{text!r}: {e}", "P('x', ('y', 'z'), None)")
    return entries, sorted(named.get("unreduced", ()))


def to_partition_spec(placement, mesh=None) -> str:
    """JAX's text. Refuses placements that are not whole mesh axes cutting the outermost blocks, and reductions
    other than sum."""
    mesh = instance(placement, Placement, "what is written")._mesh(mesh)
    if mesh.names is None:
        refuse("a partition spec names mesh axes", "no-mesh", f"{mesh}", "Mesh(shape, names)")
    cuts, unreduced = [[] for _ in placement.shape], []
    for k, atoms in enumerate(placement._atoms_by_dim(mesh)):
        kinds = {a.role[:2] for a in atoms}
        if len(kinds) > 1:
            _no_spec(placement)
        for kind in kinds:
            if kind[0] == "shard":
                cuts[kind[1]].append((-atoms[0].role[2], k))
            elif kind == ("pending", "sum"):
                unreduced.append(mesh.label(k))
            elif kind[0] == "pending":
                _no_spec(placement)
    names = [[mesh.label(k) for _, k in sorted(cut)] for cut in cuts]
    made = Placement.from_assignment(placement.shape, mesh, names, {n: "sum" for n in unreduced})
    if made.owners_key() != placement.owners_key():
        _no_spec(placement)
    return _spec_text(names, unreduced)


def _no_spec(placement):
    refuse("the placement has no partition spec on this mesh", "no-partition-spec", f"{placement}",
           "whole mesh axes that cut the outermost blocks of dimensions, or pending sums")  # fmt: skip


def _spec_text(names, unreduced) -> str:
    entry = lambda n: "None" if not n else repr(n[0]) if len(n) == 1 else repr(tuple(n))  # noqa: E731
    parts = [entry(n) for n in names]
    while parts and parts[-1] == "None":
        parts.pop()
    if unreduced:
        parts.append("unreduced={" + ", ".join(map(repr, unreduced)) + "}")
    return f"P({', '.join(parts)})"
