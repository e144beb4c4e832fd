"""Execution of statements: the interpreter that turns a function body into IR.

`HANDLERS` maps AST statement classes to methods of Evaluator; together with expr.HANDLERS it is the closed
list of accepted constructs (docs/language.md).
"""

from __future__ import annotations

import ast

from .. import _ffi_api as _api
from ..errors import Location, ScriptError, TirxError, TypeMismatch
from ..ir import Buffer, BufferLoad, BufferRegion, Call, FloatImm, IntImm, PointerType, PrimExpr, Stmt, Var
from . import index as ix
from .expr import HANDLERS as EXPR
from .expr import (
    binary,
    bounds,
    buffer_subscript,
    evaluate,
    index_nodes,
    iterate,
    python_failure,
    truth,
    unsupported,
)
from .frames import FilterFrame, Loops
from .scope import MISSING, Scalar, Scope
from .values import DType, Handle, Let, LocalArray, MetaVar

_Span = _api.Span
NORMAL, BREAK, CONTINUE, RETURN = range(4)


class Evaluator:
    """Runs the statements of one function (a kernel, or one expansion of an inline function).

    vars is scope.vars: the names bound in this function. result is the value of an inline's `return`.
    unrolled is the list of open loops that were unrolled in Python: (statement depth of the loop).
    """

    __slots__ = ("builder", "source", "scope", "vars", "file", "offset", "result", "inline", "unrolled")

    def __init__(self, builder, source, outer, many, inline=False):
        self.builder, self.source = builder, source
        self.scope = Scope(outer, many)
        self.vars = self.scope.vars
        self.file, self.offset = source.file, source.offset
        self.result, self.inline, self.unrolled = None, inline, []

    def span(self, n):
        off = self.offset
        return _Span(self.file, n.lineno + off, n.col_offset, n.end_lineno + off, n.end_col_offset)

    def shape(self, buffer):
        """Extents of a buffer, remembered per parse."""
        shapes = self.builder.shapes
        shape = shapes.get(buffer)
        if shape is None:
            shape = shapes[buffer] = ix.shape_of(buffer)
        return shape

    # ---- bodies ----

    def body(self, stmts) -> int:
        """Run statements in order; says how they ended (NORMAL, BREAK, CONTINUE, RETURN)."""
        builder = self.builder
        for node in stmts:
            builder.node = node
            ended = HANDLERS[type(node)](self, node)
            if ended:
                return ended
        return NORMAL

    def block(self, node, stmts, kind, runtime=1):
        """Run statements as a run-time block and return the IR statement."""
        builder, scope = self.builder, self.scope
        builder.push()
        builder.runtime += runtime
        scope.enter(kind, node.lineno + self.offset)
        ended = self.body(stmts)
        if ended:
            self._jump_out_of_block(ended, kind)
        scope.exit()
        builder.runtime -= runtime
        return builder.pop(node)

    def _jump_out_of_block(self, ended, kind):
        """A Python-level jump cannot leave a block that runs at run time."""
        what = {BREAK: "break", CONTINUE: "continue", RETURN: "return"}[ended]
        where = "an inline function" if ended == RETURN else "a loop that was unrolled while parsing"
        raise ScriptError(
            f"`{what}` of {where} inside a run-time {kind}",
            code="jump-in-block",
            span=self.builder.span(),
            found=f"a {what} that would depend on the run",
            required=f"a {what} that every execution reaches",
            hint="use T.serial(...) for a run-time loop"
            if ended != RETURN
            else "compute the value with T.Select",
        )

    # ---- names ----

    def undefined(self, name):
        return self.scope.undefined(name)

    def mutable(self, name):
        """The Scalar that `name` denotes here or in an enclosing inline, or None."""
        value = self.vars.get(name, MISSING)
        if value is MISSING and self.inline:
            value = self.scope.outer.lookup(name)
        return value if type(value) is Scalar else None

    def bind_plain(self, target, value):
        """Bind comprehension targets: plain Python values, no IR."""
        if type(target) is ast.Name:
            self.vars[target.id] = value
        else:
            for t, v in zip(target.elts, self.unpack(target, value)):
                self.bind_plain(t, v)

    def bind_target(self, target, value):
        """Bind the target of an unrolled loop or of `with ... as`: the value itself, no IR."""
        if type(target) is ast.Name:
            self.scope.define(target.id, value)
        elif type(target) in (ast.Tuple, ast.List):
            for t, v in zip(target.elts, self.unpack(target, value)):
                self.bind_target(t, v)
        else:
            raise unsupported(self, target)

    def unpack(self, target, value):
        """The values for a tuple target; an error when the counts differ."""
        try:
            values = list(value)
        except TypeError:
            values = None
        if values is None or len(values) != len(target.elts):
            found = f"{len(values)} values" if values is not None else ix.describe(value)
            raise ScriptError(
                "the values do not fit the targets",
                code="unpack",
                span=self.span(target),
                found=found,
                required=f"{len(target.elts)} values",
            )
        return values

    def assign(self, target, value, node):
        """target = value for a bare assignment."""
        kind = type(target)
        if kind is ast.Name:
            self.assign_name(target.id, value, node)
        elif kind is ast.Subscript:
            self.assign_item(target, value, node)
        elif kind is ast.Attribute:
            self.assign_attribute(target, value, node)
        elif kind in (ast.Tuple, ast.List):
            for t, v in zip(target.elts, self.unpack(target, value)):
                self.assign(t, v, node)
        else:
            raise unsupported(self, target)

    def assign_name(self, name, value, node):
        if type(value) is MetaVar:
            return self.scope.define(name, value.value)
        if not isinstance(value, (PrimExpr, int, float)):
            return self.scope.define(name, value)
        scalar = self.mutable(name)
        if scalar is not None:
            return self.store_scalar(scalar, name, value, node)
        old = self.vars.get(name)
        if isinstance(old, Buffer) and self.shape(old) == (1,):
            return self.builder.emit(_api.BufferStore(old, value, [0], self.span(node)))
        fresh = self.builder.fresh
        if fresh and isinstance(value, BufferLoad) and any(value.buffer.same_as(b) for b in fresh):
            return self.scope.define(name, Scalar(value.buffer))
        if name in self.scope.many:
            return self.new_scalar(name, dtype_of(value), value, node, auto=True)
        self.scope.define(name, self.value_of(name, value, node))

    def value_of(self, name, value, node):
        """What a name assigned once stands for: constants and variables themselves, else a let."""
        if not isinstance(value, PrimExpr) or type(value) in _ATOMS:
            return value
        return self.let(name, value, node)

    def let(self, name, value, node, var=None):
        """Emit an immutable definition and return its variable."""
        span = self.span(node)
        if var is None:
            self.check_has_value(value, node)
            pointer = pointer_of(value) if value.dtype == "handle" else None
            var = _api.Var(name, value.dtype, pointer, span)
        self.builder.emit(_api.Bind(var, value, span))
        return var

    def check_has_value(self, value, node):
        if str(value.dtype) in ("", "void"):
            raise TypeMismatch(
                "this call has no value",
                code="no-value",
                span=self.span(node),
                found="a call for its effects",
                required="an expression with a value",
            )

    def new_scalar(self, name, dtype, value, node, auto=False):
        """A mutable scalar in local memory, initialised when a value is given."""
        span = self.span(node)
        buffer = make_buffer(name, (1,), dtype, "local", span=span)
        self.builder.emit(_api.AllocBuffer(buffer, span))
        if value is not None:
            self.builder.emit(_api.BufferStore(buffer, value, [0], span))
        self.scope.define(name, Scalar(buffer, auto))

    def store_scalar(self, scalar, name, value, node):
        if scalar.auto:
            self.check_same_kind(scalar, name, value, node)
        self.builder.emit(_api.BufferStore(scalar.buffer, value, [0], self.span(node)))

    def check_same_kind(self, scalar, name, value, node):
        """A scalar whose dtype was taken from its first value accepts no value that loses information."""
        held, given = str(scalar.buffer.dtype), dtype_of(value)
        literal = not isinstance(value, PrimExpr)
        lossless = held == given or ("float" in held and ("int" in given or literal))
        if lossless or (literal and "int" in held and isinstance(value, int)):
            return
        raise TypeMismatch(
            f"{name} was created as {held} and gets a value of another dtype",
            code="mixed-dtypes",
            span=self.span(node),
            found=given,
            required=held,
            hint=f"declare the dtype: `{name}: T.{given} = ...`, or convert the value",
        )

    def assign_item(self, target, value, node):
        obj = evaluate(self, target.value)
        if isinstance(obj, Buffer):
            span = self.span(node)
            keys = self.store_keys(target, obj)
            value = value if isinstance(value, PrimExpr) else ix.as_value(value, self.span(node.value))
            return self.builder.emit(_api.BufferStore(obj, value, keys, span))
        key = evaluate(self, target.slice)
        self.refuse_python_mutation(target, "an item of a Python object")
        try:
            obj[key] = value
        except TirxError:
            raise
        except Exception as error:
            raise python_failure(error, self.span(target)) from error

    def store_keys(self, target, buffer):
        """The checked indices of a store."""
        nodes = index_nodes(target.slice)
        if any(type(k) is ast.Slice for k in nodes):
            ix.store(buffer, [slice(None)] * len(self.shape(buffer)), 0, self.span(target))
        load = buffer_subscript(self, target, buffer)
        return load.indices

    def assign_attribute(self, target, value, node):
        obj = evaluate(self, target.value)
        old = getattr(obj, target.attr, None)
        if isinstance(old, BufferLoad) and self.shape(old.buffer) == (1,) and is_number(value):
            return self.builder.emit(_api.BufferStore(old.buffer, value, [0], self.span(node)))
        self.refuse_python_mutation(target, f"the attribute {target.attr!r} of a Python object")
        try:
            setattr(obj, target.attr, value.value if type(value) is MetaVar else value)
        except Exception as error:
            raise python_failure(error, self.span(target)) from error

    def refuse_python_mutation(self, target, what):
        """Python state changed under a run-time branch would be changed on both paths."""
        if self.builder.runtime:
            raise ScriptError(
                f"{what} is set inside a run-time block",
                code="python-state-in-block",
                span=self.span(target),
                found="a change while parsing that would not depend on the branch or loop",
                required="a change outside of run-time `if`, `for` and `while`",
                hint="keep run-time state in a scalar: T.local_scalar(dtype), or `x: T.int32 = ...`",
            )


_ATOMS = {Var, IntImm, FloatImm}


def is_number(value):
    return isinstance(value, (PrimExpr, int, float))


def dtype_of(value) -> str:
    """dtype of an IR value or of the constant that a Python number becomes."""
    if isinstance(value, PrimExpr):
        return str(value.dtype)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int32" if -(1 << 31) <= value < 1 << 31 else "int64"
    return "float32"


def pointer_of(value):
    """The pointer type of T.address_of(A[i]) and of pointer variables; None when unknown."""
    if isinstance(value, Var):
        return value.pointer
    if isinstance(value, Call) and value.op == "tx.address_of":
        buffer = value.args[0].buffer
        return PointerType(element(buffer.dtype), buffer.scope)
    return None


def element(dtype) -> str:
    """A dtype without its lanes."""
    text = str(dtype)
    base, _, lanes = text.rpartition("x")
    return base if lanes.isdigit() and base else text


def make_buffer(
    name, shape, dtype, scope, layout=None, data=None, elem_offset=0, align=0, addr=None, span=None
):
    """A Buffer with its own pointer variable unless `data` is given."""
    if data is None:
        data = _api.Var(name + "_ptr", "handle", _api.PointerType(element(dtype), scope), span)
    return _api.Buffer(name, data, list(shape), dtype, layout, scope, elem_offset, align, addr, span)


# ---- statements ----


class _Handlers(dict):
    def __missing__(self, node_type):
        return _refuse


def _refuse(ev, node):
    raise unsupported(ev, node)


HANDLERS = _Handlers()


def handles(node_type):
    def register(fn):
        HANDLERS[node_type] = fn
        return fn

    return register


@handles(ast.Expr)
def _expr(ev, n):
    value = EXPR[type(n.value)](ev, n.value)
    if isinstance(value, PrimExpr):
        ev.builder.emit(_api.Evaluate(value, ev.span(n)))
    elif isinstance(value, Stmt):
        ev.builder.emit(value)
    elif isinstance(value, (Buffer, BufferRegion, Loops)):
        raise _no_effect(ev, n, value)


def _no_effect(ev, n, value):
    if isinstance(value, Buffer) and isinstance(n.value, ast.Call):
        return None
    return ScriptError(
        "this statement does nothing",
        code="no-effect",
        span=ev.span(n),
        found=ix.describe(value),
        required="a call, an assignment or a control statement",
    )


@handles(ast.Assign)
def _assign(ev, n):
    builder = ev.builder
    target = n.targets[0]
    kind = type(target)
    if kind is ast.Name:
        builder.hint = target.id
    elif kind is ast.Tuple:
        builder.hint = [t.id if type(t) is ast.Name else "v" for t in target.elts]
    elif kind is ast.Attribute:
        builder.hint = target.attr
    value = EXPR[type(n.value)](ev, n.value)
    builder.hint = None
    builder.node = n
    for target in n.targets:
        ev.assign(target, value, n)
    if builder.fresh:
        builder.fresh.clear()


@handles(ast.AugAssign)
def _aug_assign(ev, n):
    target = n.target
    if type(target) is ast.Subscript:
        obj = evaluate(ev, target.value)
        if isinstance(obj, Buffer):
            return _aug_store(ev, n, obj)
    left = EXPR[type(target)](ev, target)
    value = binary(ev, n, type(n.op), left, EXPR[type(n.value)](ev, n.value))
    if type(target) is ast.Name and ev.mutable(target.id) is None and not isinstance(value, PrimExpr):
        return ev.scope.define(target.id, value)
    ev.assign(target, value, n)


def _aug_store(ev, n, buffer):
    keys = ev.store_keys(n.target, buffer)
    left = _api.BufferLoad(buffer, keys, ev.span(n.target))
    value = binary(ev, n, type(n.op), left, EXPR[type(n.value)](ev, n.value))
    ev.builder.emit(_api.BufferStore(buffer, value, keys, ev.span(n)))


@handles(ast.AnnAssign)
def _ann_assign(ev, n):
    if type(n.target) is not ast.Name:
        raise unsupported(ev, n)
    name = n.target.id
    annotation = evaluate(ev, n.annotation)
    ev.builder.hint = name
    value = None if n.value is None else evaluate(ev, n.value)
    ev.builder.hint, ev.builder.node = None, n
    if isinstance(annotation, Let):
        return _let(ev, n, name, annotation, value)
    if isinstance(annotation, LocalArray):
        return _local_array(ev, n, name, annotation)
    if not isinstance(annotation, DType):
        raise _bad_annotation(ev, n, annotation)
    if value is not None:
        ix.as_value(value, ev.span(n.value))
    ev.new_scalar(name, annotation.name, value, n)


def _let(ev, n, name, annotation, value):
    value = ix.as_value(value, ev.span(n))
    kind = annotation.type
    var = None
    if isinstance(kind, DType):
        value = value if isinstance(value, PrimExpr) else kind(value)
        var = _api.Var(name, kind.name, None, ev.span(n))
    elif isinstance(kind, Handle):
        var = kind.var(name, ev.span(n))
    elif kind is not None:
        raise _bad_annotation(ev, n, kind)
    elif not isinstance(value, PrimExpr):
        value = _api.const(dtype_of(value), value)
    ev.scope.define(name, ev.let(name, value, n, var))


def _local_array(ev, n, name, annotation):
    if n.value is not None:
        raise ScriptError(
            "an array annotation takes no value",
            code="array-with-value",
            span=ev.span(n),
            found=f"{name}: T.{annotation.dtype}[...] = ...",
            required=f"{name}: T.{annotation.dtype}[...]",
            hint="fill it afterwards: Tx.fill or a loop",
        )
    buffer = make_buffer(name, annotation.shape, annotation.dtype, "local", span=ev.span(n))
    ev.builder.emit(_api.AllocBuffer(buffer, ev.span(n)))
    ev.scope.define(name, buffer)


def _bad_annotation(ev, n, annotation):
    return ScriptError(
        "this annotation does not declare anything",
        code="bad-annotation",
        span=ev.span(n.annotation),
        found=ix.describe(annotation),
        required="a dtype (T.int32), an array (T.float32[8]), T.let or T.let[type]",
    )


@handles(ast.If)
def _if(ev, n):
    cond = EXPR[type(n.test)](ev, n.test)
    if isinstance(cond, FilterFrame):
        return _filter_if(ev, n, cond)
    if not isinstance(cond, PrimExpr):
        return ev.body(n.body if truth(ev, n.test, cond) else n.orelse)
    then = ev.block(n, n.body, "if")
    other = ev.block(n, n.orelse, "else") if n.orelse else None
    ev.builder.emit(_api.IfThenElse(cond, then, other, ev.span(n)))


def _filter_if(ev, n, frame):
    if n.orelse:
        raise ScriptError(
            "a filter has no `else`",
            code="filter-else",
            span=ev.span(n.orelse[0]),
            found="an else branch of T.filter",
            required="with T.filter(...):",
        )
    body = ev.block(n, n.body, "filter")
    ev.builder.emit(_api.Filter(frame.cond, body, ev.span(n)))


@handles(ast.For)
def _for(ev, n):
    _no_else(ev, n)
    loops = _loops(ev, n.iter)
    if isinstance(loops, Loops):
        return _runtime_for(ev, n, loops)
    ev.unrolled.append(None)
    try:
        for item in iterate(ev, n.iter, loops):
            ev.bind_target(n.target, item)
            ended = ev.body(n.body)
            if ended == RETURN:
                return RETURN
            if ended == BREAK:
                break
    finally:
        ev.unrolled.pop()


def _no_else(ev, n):
    if n.orelse:
        raise ScriptError(
            "a loop has no `else`",
            code="unsupported-construct",
            span=ev.span(n.orelse[0]),
            found="an else branch of a loop",
            required="a construct of the list in docs/language.md",
        )


def _loops(ev, node):
    """The iterable of a `for`: Loops for range and T.serial..., else a Python value."""
    if type(node) is not ast.Call:
        return evaluate(ev, node)
    func = evaluate(ev, node.func)
    kind = getattr(func, "loop_kind", None)
    if func is range:
        kind = "serial"
    if kind is None or not 1 <= len(node.args) <= 2 or any(type(a) is ast.Starred for a in node.args):
        value = evaluate(ev, node)
        return _range_with_step(value) if func is range else value
    lower, upper = node.args if len(node.args) == 2 else (None, node.args[0])
    lo, count = bounds(ev, lower, upper)
    options = {k.arg: evaluate(ev, k.value) for k in node.keywords}
    ev.builder.node = node
    return Loops.single(kind, lo, count, **options)


def _range_with_step(value):
    """range(a, b, c) of constants as a serial loop."""
    return Loops.single("serial", value.start, value.stop - value.start, step=value.step)


def _runtime_for(ev, n, loops):
    names = [t.id for t in n.target.elts] if isinstance(n.target, ast.Tuple) else [n.target.id]
    if len(names) != len(loops.loops):
        ev.unpack(ast.Tuple(elts=[n.target]) if len(names) == 1 else n.target, loops.loops)
    builder, scope = ev.builder, ev.scope
    variables = loops.variables(names, ev.span(n.target))
    unrolled, ev.unrolled = ev.unrolled, []
    builder.push()
    builder.runtime += 1
    scope.enter("for", n.lineno + ev.offset)
    for name, (_, value) in zip(names, variables):
        scope.define(name, value)
    if ev.body(n.body) == RETURN:
        ev._jump_out_of_block(RETURN, "for")
    scope.exit()
    builder.runtime -= 1
    body = builder.pop(n)
    ev.unrolled = unrolled
    builder.emit(loops.wrap([v for v, _ in variables], body, ev.span(n)))


@handles(ast.While)
def _while(ev, n):
    _no_else(ev, n)
    cond = evaluate(ev, n.test)
    if not isinstance(cond, PrimExpr):
        if not truth(ev, n.test, cond):
            return
        cond = IntImm("bool", True)
    unrolled, ev.unrolled = ev.unrolled, []
    body = ev.block(n, n.body, "while")
    ev.unrolled = unrolled
    ev.builder.emit(_api.While(cond, body, ev.span(n)))


@handles(ast.Break)
def _break(ev, n):
    if ev.unrolled:
        return BREAK
    ev.builder.emit(_api.Break(ev.span(n)))


@handles(ast.Continue)
def _continue(ev, n):
    if ev.unrolled:
        return CONTINUE
    ev.builder.emit(_api.Continue(ev.span(n)))


@handles(ast.Pass)
def _pass(ev, n):
    return NORMAL


@handles(ast.Assert)
def _assert(ev, n):
    cond = evaluate(ev, n.test)
    message = "" if n.msg is None else evaluate(ev, n.msg)
    if isinstance(cond, PrimExpr):
        return ev.builder.emit(_api.Assert(cond, str(message), ev.span(n)))
    if not truth(ev, n.test, cond):
        raise ScriptError(
            "an assertion failed while the kernel was being parsed",
            code="assertion",
            span=ev.span(n),
            found=str(message) or ast.unparse(n.test),
            required="a true condition",
        )


@handles(ast.Return)
def _return(ev, n):
    if ev.inline:
        ev.result = None if n.value is None else evaluate(ev, n.value)
        return RETURN
    raise ScriptError(
        "a kernel returns nothing",
        code="return-in-kernel",
        span=ev.span(n),
        found="return",
        required="results stored to buffers",
        hint="guard the rest with `if`",
    )


@handles(ast.With)
def _with(ev, n):
    _with_items(ev, n, n.items)


def _with_items(ev, n, items):
    builder, scope = ev.builder, ev.scope
    frame = evaluate(ev, items[0].context_expr)
    builder.node = items[0].context_expr
    if not (hasattr(frame, "__enter__") and hasattr(frame, "__exit__")):
        raise ScriptError(
            "this cannot open a `with` block",
            code="not-a-frame",
            span=builder.span(),
            found=ix.describe(frame),
            required="T.thread(), T.warp(), T.warpgroup(), T.cta(), T.cluster(), T.filter(...)",
        )
    depth = len(builder.stack)
    value = frame.__enter__()
    opened = len(builder.stack) > depth
    if opened:
        scope.enter("with", n.lineno + ev.offset)
    if items[0].optional_vars is not None:
        ev.bind_target(items[0].optional_vars, value)
    ended = _with_items(ev, n, items[1:]) if len(items) > 1 else ev.body(n.body)
    if ended and opened:
        ev._jump_out_of_block(ended, "with")
    if opened:
        scope.exit()
    builder.node = n
    frame.__exit__(None, None, None)
    return ended


@handles(ast.FunctionDef)
def _function_def(ev, n):
    from .entry import nested_function

    ev.scope.define(n.name, nested_function(ev, n))


def locate(error, builder):
    """Give an error that knows no source line the one being parsed."""
    if error.location is None:
        error.location = Location.of(builder.span())
    return error
