"""An interpreter of native-stage functions for tests of passes: one thread, plain Python, no tricks.

`run(func, args, thread=, cta=)` executes the body with the given hardware indices. args: numpy arrays (flat)
for buffer parameters, numbers for scalars. Arrays are changed in place. Values are numpy scalars of the dtype
(ml_dtypes for the small floats), or numpy arrays for vectors, so that rounding and wrapping are numpy's.
Pieces of memory are numpy arrays; an access outside of them raises IndexError.
"""

import ml_dtypes
import numpy as np

_FLOATS = {
    "bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2, "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
}  # fmt: skip


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class TrapError(Exception):
    """A failed T.assert."""


def element(dtype) -> str:
    return str(dtype).split("x")[0] if not str(dtype).startswith("e") else str(dtype)


def np_dtype(dtype):
    name = element(dtype)
    return np.dtype(_FLOATS.get(name, name))


class Machine:
    def __init__(self, thread, cta):
        self.vars, self.memory = {}, {}
        self.thread, self.cta = thread, cta
        self.stores = []

    # ---- statements

    def stmt(self, s):
        getattr(self, "_" + type(s).__name__)(s)

    def _SeqStmt(self, s):
        for child in s.seq:
            self.stmt(child)

    def _Bind(self, s):
        self.vars[s.var] = self.expr(s.value)

    def _AllocBuffer(self, s):
        self.memory[s.buffer.data] = np.zeros(int(s.buffer.shape[0]), np_dtype(s.buffer.dtype))

    def _DeclBuffer(self, s):
        pass

    def _DeviceEntry(self, s):
        pass

    def _BufferStore(self, s):
        index = self.expr(s.indices[0])
        value = self.expr(s.value)
        data = self.view(s.buffer)
        self.check(index, data)
        data[index] = value
        self.stores.append((str(s.buffer.name), index))

    def _Evaluate(self, s):
        self.expr(s.value)

    def _For(self, s):
        lo, n = int(self.expr(s.min)), int(self.expr(s.extent))
        for i in range(lo, lo + n):
            self.vars[s.loop_var] = np_dtype(s.loop_var.dtype).type(i)
            try:
                self.stmt(s.body)
            except _Continue:
                continue
            except _Break:
                break

    def _While(self, s):
        while self.expr(s.cond):
            try:
                self.stmt(s.body)
            except _Continue:
                continue
            except _Break:
                break

    def _Break(self, s):
        raise _Break

    def _Continue(self, s):
        raise _Continue

    def _IfThenElse(self, s):
        if self.expr(s.cond):
            self.stmt(s.then_case)
        elif s.else_case is not None:
            self.stmt(s.else_case)

    def _Assert(self, s):
        if not self.expr(s.cond):
            raise TrapError(str(s.message))

    # ---- expressions

    def expr(self, e):
        with np.errstate(all="ignore"):
            return getattr(self, "_e_" + type(e).__name__)(e)

    def _e_Var(self, e):
        return self.vars[e]

    def _e_IntImm(self, e):
        return np_dtype(e.dtype).type(e.value)

    def _e_FloatImm(self, e):
        return np_dtype(e.dtype).type(e.value)

    def _e_Binary(self, e):
        if e.name == "and":
            return bool(self.expr(e.a)) and bool(self.expr(e.b))
        if e.name == "or":
            return bool(self.expr(e.a)) or bool(self.expr(e.b))
        return _BINARY[e.name](self.expr(e.a), self.expr(e.b))

    def _e_Not(self, e):
        return not self.expr(e.a)

    def _e_Select(self, e):
        return self.expr(e.true_value if self.expr(e.cond) else e.false_value)

    def _e_Cast(self, e):
        value, dtype = self.expr(e.value), np_dtype(e.dtype)
        if isinstance(value, np.ndarray):
            return value.astype(dtype)
        return np.asarray(value).astype(dtype)[()]

    def _e_Ramp(self, e):
        base = int(self.expr(e.base))
        return base + int(self.expr(e.stride)) * np.arange(e.lanes)

    def _e_Broadcast(self, e):
        return np.full(e.lanes, self.expr(e.value), np_dtype(e.value.dtype))

    def _e_BufferLoad(self, e):
        index, data = self.expr(e.indices[0]), self.view(e.buffer)
        self.check(index, data)
        return data[index]

    def _e_Call(self, e):
        op = str(e.op)
        if op == "tx.thread_index":
            return np.int32(self.thread)
        if op == "tx.cta_index":
            return np.int32(self.cta[int(e.args[0])])
        args = [self.expr(a) for a in e.args]
        if op == "tx.reinterpret":
            return np.asarray(args[0]).view(np_dtype(e.dtype))[()]
        return np_dtype(e.dtype).type(_MATH[op](*args))

    def view(self, buffer):
        data, dtype = self.memory[buffer.data], np_dtype(buffer.dtype)
        return data if data.dtype == dtype else data.view(dtype)

    @staticmethod
    def check(index, data):
        if np.min(index) < 0 or np.max(index) >= data.size:
            raise IndexError(f"{index} outside of {data.size} elements")


def _floor(name):
    def apply(a, b):
        if np.issubdtype(np.asarray(a).dtype, np.integer) and np.any(np.asarray(b) == 0):
            raise ZeroDivisionError
        return {"floordiv": np.floor_divide, "floormod": np.mod}[name](a, b)

    return apply


def _trunc(name):
    def apply(a, b):
        if np.any(np.asarray(b) == 0):
            raise ZeroDivisionError
        return np.fmod(a, b) if name == "truncmod" else (a - np.fmod(a, b)) // b

    return apply


_BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "floordiv": _floor("floordiv"), "floormod": _floor("floormod"),
    "truncdiv": _trunc("truncdiv"), "truncmod": _trunc("truncmod"),
    "min": np.minimum, "max": np.maximum,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b,
    "shift_left": lambda a, b: a << b, "shift_right": lambda a, b: a >> b,
}  # fmt: skip

_MATH = {"tx.sqrt": np.sqrt, "tx.exp": np.exp, "tx.abs": np.abs, "tx.floor": np.floor}


def run(func, args, thread=0, cta=(0, 0, 0)):
    """Execute `func`; returns the machine (its `stores` list the writes in order)."""
    machine = Machine(thread, cta)
    for var, buffer, arg in zip(func.params, func.param_buffers, args):
        if buffer is None:
            machine.vars[var] = np_dtype(var.dtype).type(arg)
        else:
            machine.memory[buffer.data] = arg
    machine.stmt(func.body)
    return machine
