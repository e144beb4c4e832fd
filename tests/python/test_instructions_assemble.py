"""Every instruction of the table is printed in a kernel and accepted by the real assembler.

Instructions with the same features share a kernel; a failure is narrowed down to the entry by assembling the
members of its group alone.
"""

import pytest
from cuda_kernels import address_of, kernel, load, needs_nvrtc, store

from tirx import ir
from tirx.errors import TargetError
from tirx.targets import cuda
from tirx.targets.cuda.arch import ARCHS, archs_with
from tirx.targets.cuda.instructions import table

# operands whose value the hardware restricts
_IMMEDIATES = {"registers": 40, "width": 32, "cp_size": 16, "n": 1}
_VALUES = {"columns": 32, "id": 1, "count": 64}
# dtypes of "any" operands where float32 has no meaning
_INTEGER_ONLY = ("atomic_and", "atomic_or", "atomic_xor", "atomic_cas", "match")


def _groups():
    groups = {}
    for name, decl in table().items():
        cta_pair = "cta_group::2" in name  # a kernel must not mix the two
        groups.setdefault((decl.features, cta_pair), []).append(name)
    return groups


def _targets(features):
    return [a for a in ARCHS if all(a in archs_with(f) for f in features)]


class Operands:
    """Storage for the operands of one kernel's instructions."""

    def __init__(self):
        self.out = ir.Buffer.make("out", [1024], "float32")
        self.memory = ir.Buffer.make("memory", [1024], "float32")
        self.shared = ir.Buffer.make("shared_memory", [1024], "float32", "shared")
        self.locals = {}
        self.order = []

    def local(self, dtype):
        if dtype not in self.locals:
            buffer = ir.Buffer.make("r_" + dtype, [16], dtype, "local")
            self.locals[dtype] = buffer
            value = load(self.memory, 0).astype(dtype)
            self.order += [ir.AllocBuffer(buffer), *(store(buffer, i, value) for i in range(16))]
        return self.locals[dtype]

    def argument(self, name, operand, i):
        space, dtype, label = str(operand.space), str(operand.dtype), str(operand.name)
        if space == "imm":
            return _IMMEDIATES.get(label, 16)
        if space == "str":
            return ir.StringImm("value %f\n")
        if space in ("shared", "global", "generic"):
            return address_of(self.shared if space == "shared" else self.memory)
        if not dtype or space == "rest":
            dtype = "uint32" if any(part in name for part in _INTEGER_ONLY) else "float32"
        if dtype == "bool":
            return load(self.local("int32"), i)
        if label in _VALUES:
            return _VALUES[label]
        return load(self.local(dtype), i)

    def statements(self, name):
        """The instruction, and stores that use what it wrote."""
        decl = table()[name].instr()
        args = [self.argument(name, op, i) for i, op in enumerate(decl.operands)]
        call = ir.instr_call(name, args)
        if call.dtype.bits == 0:
            used = [a for a, op in zip(args, decl.operands) if op.space == "reg" and "w" in str(op.access)]
            return [ir.Evaluate(call), *(store(self.out, i, a.astype("float32")) for i, a in enumerate(used))]
        return [store(self.out, 0, call.astype("float32"))]


def _kernel(names):
    operands = Operands()
    body = [s for name in names for s in operands.statements(name)]
    return kernel([ir.AllocBuffer(operands.shared), *operands.order, *body], [operands.out, operands.memory])


_EACH_GROUP = pytest.mark.parametrize(
    "features, cta_pair", list(_groups()), ids=lambda v: "+".join(v) if isinstance(v, tuple) else str(v)
)


@_EACH_GROUP
def test_accepted_by_the_assembler(features, cta_pair):
    """On the first architecture that has the features."""
    _assemble(_groups()[features, cta_pair], _targets(features)[0])


@pytest.mark.slow
@_EACH_GROUP
def test_accepted_for_the_last_architecture(features, cta_pair):
    _assemble(_groups()[features, cta_pair], _targets(features)[-1])


def _assemble(names, arch):
    needs_nvrtc()
    try:
        cubin = cuda.assemble(_kernel(names), f"cuda/{arch}")
    except TargetError as e:
        raise AssertionError(f"rejected for {arch}: {_rejected(names, arch)}") from e
    assert cubin.warnings == []


def _rejected(names, arch):
    bad = {}
    for name in names:
        try:
            cuda.assemble(_kernel([name]), f"cuda/{arch}")
        except TargetError as e:
            bad[name] = e.found
    return bad


@pytest.mark.parametrize(
    "name, arch",
    [
        ("ptx.tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "sm_90a"),
        ("ptx.stmatrix.sync.aligned.m8n8.x1.shared.b16", "sm_80"),
        ("ptx.mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_86"),
    ],
)
def test_missing_features_are_target_errors(name, arch):
    with pytest.raises(TargetError, match="needs|exist") as e:
        cuda.codegen(_kernel([name]), f"cuda/{arch}")
    assert e.value.code == "missing-feature" and arch in e.value.found
    assert all(a in e.value.required for a in archs_with(table()[name].features[0]))
