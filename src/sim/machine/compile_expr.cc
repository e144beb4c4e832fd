/*!
 * Expressions to bytecode. Vectors are compiled element by element; small floats by decoding to
 * float32, computing and rounding back.
 */
#include <tirx/sim/compile.h>
#include <tirx/sim/control.h>
#include <tirx/sim/numeric.h>

#include <algorithm>
#include <bit>

namespace tirx {
namespace sim {
namespace {

template <typename T>
const T* Down(const PrimExpr& e) {
  return static_cast<const T*>(e.get());
}

Kind KindOfClass(Cls c) {
  return c == Cls::kF32 ? Kind::kFp32 : c == Cls::kF64 ? Kind::kFp64 : Kind::kInt;
}

/*! True when evaluating e in a lane that does not need it is harmless: no memory, no division by
 *  something that may be 0, no effects. */
bool IsSpeculable(const PrimExpr& e) {
  switch (KindOf(e)) {
    case ExprKind::kBinary: {
      auto* n = Down<BinaryNode>(e);
      bool divides = n->kind() >= BinOp::kFloorDiv && n->kind() <= BinOp::kTruncMod;
      if (divides && !IsFloat(n->dtype) && AsInt(n->b).value_or(0) == 0) return false;
      return IsSpeculable(n->a) && IsSpeculable(n->b);
    }
    case ExprKind::kNot: return IsSpeculable(Down<NotNode>(e)->a);
    case ExprKind::kCast: return IsSpeculable(Down<CastNode>(e)->value);
    case ExprKind::kSelect: {
      auto* n = Down<SelectNode>(e);
      return IsSpeculable(n->cond) && IsSpeculable(n->true_value) && IsSpeculable(n->false_value);
    }
    case ExprKind::kCall: {
      auto* n = Down<CallNode>(e);
      if (!IsPureIntrinsic(n->op)) return false;
      return std::all_of(n->args.begin(), n->args.end(),
                         [](const PrimExpr& a) { return IsSpeculable(a); });
    }
    case ExprKind::kVar:
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm: return true;
    default: return false;
  }
}

bool IsUniformType(DType t) { return t.lanes == 1 && (IsInteger(t) || IsBool(t) || IsHandle(t)); }

bool CanWrap(BinOp op) {
  return op == BinOp::kAdd || op == BinOp::kSub || op == BinOp::kMul || op == BinOp::kShl ||
         op == BinOp::kFloorDiv || op == BinOp::kTruncDiv;
}

}  // namespace

Val Compiler::Expr(const PrimExpr& e) {
  // A variable's span is its definition; what it is used for stands around it.
  if (!e->span.defined() || KindOf(e) == ExprKind::kVar) return ExprHere(e);
  Span outer = span_;
  int32_t outer_loc = loc_;
  span_ = e->span;
  loc_ = LocOf(e->span);
  Val out = ExprHere(e);
  span_ = outer;
  loc_ = outer_loc;
  return out;
}

Val Compiler::ExprHere(const PrimExpr& e) {
  switch (KindOf(e)) {
    case ExprKind::kVar: {
      auto it = vars_.find(Down<VarNode>(e));
      if (it != vars_.end()) return it->second;
      return AddressOfData(Down<VarNode>(e));
    }
    case ExprKind::kIntImm: return Constant(e->dtype, Down<IntImmNode>(e)->value);
    case ExprKind::kFloatImm: return FloatConstant(e->dtype, Down<FloatImmNode>(e)->value);
    case ExprKind::kBinary: return CompileBinary(Down<BinaryNode>(e));
    case ExprKind::kNot: return CompileNot(Down<NotNode>(e));
    case ExprKind::kSelect: return CompileSelect(Down<SelectNode>(e));
    case ExprKind::kCast: return Convert(Expr(Down<CastNode>(e)->value), e->dtype);
    case ExprKind::kRamp: return CompileRamp(Down<RampNode>(e));
    case ExprKind::kBroadcast: return CompileBroadcast(Down<BroadcastNode>(e));
    case ExprKind::kCall: return CompileCall(Down<CallNode>(e));
    case ExprKind::kOther:
      if (auto* n = e.as<BufferLoadNode>()) return CompileLoad(n);
      break;
    default: break;
  }
  NotNative("an expression of type " + std::string(e->GetTypeKey()));
}

Val Compiler::Constant(DType t, int64_t v) {
  auto [it, fresh] = scalar_consts_.emplace(v, 0);
  if (fresh) {
    p_->scalar_consts.push_back(v);
    it->second = -static_cast<int32_t>(p_->scalar_consts.size());
  }
  return Val{t, true, it->second, v};
}

int32_t Compiler::RowConstant(uint64_t bits, bool wide) {
  auto [it, fresh] = row_consts_.emplace(std::make_pair(bits, wide), 0);
  if (fresh) {
    if (wide) p_->row_consts.push_back(0);  // the second row of a pair is filled by the loader
    p_->row_consts.push_back(static_cast<uint32_t>(bits));
    it->second = -static_cast<int32_t>(p_->row_consts.size());
    if (wide) p_->wide_consts.emplace_back(it->second, bits);
  }
  return it->second;
}

Val Compiler::FloatConstant(DType t, double v) {
  return Val{t, false, RowConstant(EncodeScalar(t, v), t.bits == 64)};
}

Val Compiler::Element(const Val& v, int i) const {
  if (v.t.lanes == 1) return v;
  Val e = v;
  e.t = ElementOf(v.t);
  e.reg += i * RowsOf(e.t);
  return e;
}

Val Compiler::Rows(const Val& v) {
  if (!v.uniform) return v;
  bool wide = RowsOf(v.t) == 2;
  if (v.k)
    return Val{v.t, false, RowConstant(wide ? *v.k : static_cast<uint32_t>(*v.k), wide), v.k};
  Val out{v.t, false, NewRows(wide ? 2 : 1)};
  Emit(wide ? &Splat64 : &Splat32, Kind::kNone, out.reg, v.reg);
  return out;
}

Val Compiler::CompileBinary(const BinaryNode* n) {
  if (IsLogical(n->kind())) return CompileLogical(n);
  Val a = Expr(n->a), b = Expr(n->b);
  if (a.t.lanes == 1) return BinaryVals(n->kind(), a, b);
  return PerElement(n->dtype,
                    [&](int i) { return BinaryVals(n->kind(), Element(a, i), Element(b, i)); });
}

/*! A vector from its elements, gathered into consecutive rows. */
Val Compiler::PerElement(DType t, const std::function<Val(int)>& f) {
  DType e = ElementOf(t);
  Val out{t, false, NewRows(t.lanes * RowsOf(e))};
  for (int i = 0; i < t.lanes; ++i) {
    Val v = Rows(f(i));
    Emit(RowsOf(e) == 2 ? &Move64 : &Move32, Kind::kNone, Element(out, i).reg, v.reg);
  }
  return out;
}

Val Compiler::ThreadShift(BinOp op, const Val& a, int64_t c) {
  Val base{a.t, true, *a.warp_base};
  if (op == BinOp::kFloorDiv || op == BinOp::kTruncDiv) {
    return BinaryVals(op, base, Constant(a.t, c));
  }
  Val folded = BinaryVals(op, base, Constant(a.t, c));  // (b + lane) % c == b % c + lane
  Val out = BinaryVals(BinOp::kAdd, Rows(folded), Val{a.t, false, kRowLane});
  out.warp_base = folded.reg;
  return out;
}

Val Compiler::BinaryVals(BinOp op, const Val& a, const Val& b) {
  DType t = IsComparison(op) ? kBool : a.t;
  bool by_warps = b.k && *b.k > 0 && *b.k % kLanes == 0;
  bool divides = op >= BinOp::kFloorDiv && op <= BinOp::kTruncMod;
  if (a.warp_base && by_warps && divides) return ThreadShift(op, a, *b.k);
  if (a.warp_base && op == BinOp::kShr && b.k && *b.k >= 5 && *b.k < 31) {
    return ThreadShift(BinOp::kFloorDiv, a, int64_t{1} << *b.k);
  }
  if (b.k && *b.k > 0 && (*b.k & (*b.k - 1)) == 0 && !IsFloat(a.t)) {
    // Rounding to minus infinity is what an arithmetic shift and a mask do.
    int shift = std::countr_zero(static_cast<uint64_t>(*b.k));
    if (op == BinOp::kFloorDiv && shift > 0)
      return BinaryVals(BinOp::kShr, a, Constant(b.t, shift));
    if (op == BinOp::kFloorMod) return BinaryVals(BinOp::kBitAnd, a, Constant(b.t, *b.k - 1));
  }
  if (a.uniform && b.uniform && op != BinOp::kDiv) {
    if (a.k && b.k) {
      if (auto folded = FoldInt(op, a.t, *a.k, *b.k)) return Constant(t, *folded);
    }
    Val out{t, true, NewScalar()};
    Emit(ScalarBinaryFn(op, ClassOf(a.t)), Kind::kInt, out.reg, a.reg, b.reg);
    if (Fn wrap = CanWrap(op) && t.bits < 32 ? ScalarWrapFn(t) : nullptr)
      Emit(wrap, Kind::kNone, out.reg, out.reg);
    return out;
  }
  return RowBinary(op, t, Rows(a), Rows(b));
}

Val Compiler::RowBinary(BinOp op, DType t, Val a, Val b) {
  if (IsSmallFloat(a.t)) {
    Val r = RowBinary(op, IsComparison(op) ? kBool : kFloat32, Convert(a, kFloat32),
                      Convert(b, kFloat32));
    return IsComparison(op) ? r : Convert(r, t);
  }
  Cls c = ClassOf(a.t);
  Val out{t, false, NewRows(RowsOf(t))};
  Emit(BinaryFn(op, c), KindOfClass(c), out.reg, a.reg, b.reg);
  if (Fn wrap = CanWrap(op) ? WrapFn(t) : nullptr) Emit(wrap, Kind::kNone, out.reg, out.reg);
  return out;
}

Val Compiler::CompileNot(const NotNode* n) {
  Val a = Expr(n->a);
  if (a.k) return Constant(kBool, *a.k == 0);
  if (a.uniform) {
    Val out{kBool, true, NewScalar()};
    Emit(&ScalarNot, Kind::kInt, out.reg, a.reg);
    return out;
  }
  return PerElementOr(n->dtype, [&](int i) {
    Val out{kBool, false, NewRows(1)};
    Emit(&NotRow, Kind::kInt, out.reg, Element(a, i).reg);
    return out;
  });
}

Val Compiler::PerElementOr(DType t, const std::function<Val(int)>& f) {
  return t.lanes == 1 ? f(0) : PerElement(t, f);
}

Val Compiler::CompileLogical(const BinaryNode* n) {
  Val a = Expr(n->a);
  bool is_and = n->kind() == BinOp::kAnd;
  if (a.k) return (*a.k != 0) == is_and ? Expr(n->b) : Constant(kBool, !is_and);
  if (n->dtype.lanes == 1 && !IsSpeculable(n->b)) {
    PrimExpr decided = MakeConst(kBool, !is_and);
    return is_and ? Lazy(a, n->b, decided, kBool) : Lazy(a, decided, n->b, kBool);
  }
  Val b = Expr(n->b);
  BinOp op = is_and ? BinOp::kBitAnd : BinOp::kBitOr;
  return PerElementOr(n->dtype,
                      [&](int i) { return BinaryVals(op, Element(a, i), Element(b, i)); });
}

Val Compiler::CompileSelect(const SelectNode* n) {
  Val cond = Expr(n->cond);
  if (cond.k) return Expr(*cond.k ? n->true_value : n->false_value);
  bool speculable = IsSpeculable(n->true_value) && IsSpeculable(n->false_value);
  if (cond.t.lanes == 1 && !speculable) return Lazy(cond, n->true_value, n->false_value, n->dtype);
  Val a = Expr(n->true_value), b = Expr(n->false_value);
  if (cond.uniform && a.uniform && b.uniform) {
    Val out{n->dtype, true, NewScalar()};
    Emit(&ScalarSelect, Kind::kInt, out.reg, cond.reg, a.reg, b.reg);
    return out;
  }
  Val c = Rows(cond);
  return PerElementOr(n->dtype, [&](int i) {
    Val x = Rows(Element(a, i)), y = Rows(Element(b, i));
    Val out{x.t, false, NewRows(RowsOf(x.t))};
    Fn fn = RowsOf(x.t) == 2 ? &Blend64 : &Blend32;
    Emit(fn, KindOfClass(ClassOf(x.t)), out.reg, Element(c, i).reg, x.reg, y.reg);
    return out;
  });
}

Val Compiler::Lazy(const Val& cond, const PrimExpr& then, const PrimExpr& other, DType t) {
  Val out{t, false, NewRows(t.lanes * RowsOf(ElementOf(t)))};
  auto arm = [&](const PrimExpr& e) { StoreRows(out.reg, Expr(e)); };
  Branch(cond, [&] { arm(then); }, [&] { arm(other); });
  return out;
}

void Compiler::StoreRows(int32_t dst, const Val& value) {
  Val v = Rows(value);
  int rows = RowsOf(v.t);
  for (int i = 0; i < v.t.lanes; ++i) {
    Emit(rows == 2 ? &MoveMasked64 : &MoveMasked32, Kind::kNone, dst + i * rows, v.reg + i * rows);
  }
}

Val Compiler::Convert(const Val& v, DType to) {
  if (v.t == to) return v;
  return to.lanes == 1
             ? ConvertElement(v, to)
             : PerElement(to, [&](int i) { return ConvertElement(Element(v, i), ElementOf(to)); });
}

Val Compiler::ConvertUniform(const Val& v, DType to) {
  if (v.k && IsBool(to)) return Constant(to, *v.k != 0);
  Val out{to, true, v.reg, v.k, v.warp_base};
  if (IsBool(to)) {
    Val zero = Constant(v.t, 0);
    Val differs = BinaryVals(BinOp::kNE, v, zero);
    return differs;
  }
  Fn wrap = ScalarWrapFn(to);
  if (!wrap || (v.k && FoldInt(BinOp::kAdd, to, *v.k, 0))) return v.k ? Constant(to, *v.k) : out;
  out = Val{to, true, NewScalar()};
  Emit(wrap, Kind::kInt, out.reg, v.reg);
  return out;
}

Val Compiler::ConvertElement(const Val& v, DType to) {
  if (v.uniform && IsUniformType(to)) return ConvertUniform(v, to);
  Val a = Rows(v);
  if (IsSmallFloat(a.t)) {
    Val wide{kFloat32, false, NewRows(1)};
    Emit(DecodeFn(a.t), Kind::kConvert, wide.reg, a.reg);
    return ConvertElement(wide, to);
  }
  if (IsBool(to))
    return BinaryVals(BinOp::kNE, a, IsFloat(a.t) ? FloatConstant(a.t, 0) : Constant(a.t, 0));
  if (IsSmallFloat(to)) return EncodeElement(a, to);
  if (a.t == to) return a;
  Cls from = ClassOf(a.t), dest = ClassOf(to);
  Val out{to, false, NewRows(RowsOf(to))};
  bool same_bits = from == dest && !IsFloat(to);
  Emit(same_bits ? (RowsOf(to) == 2 ? &Move64 : &Move32) : ConvertFn(from, dest), Kind::kConvert,
       out.reg, a.reg);
  if (Fn wrap = WrapFn(to)) Emit(wrap, Kind::kNone, out.reg, out.reg);
  if (v.warp_base && to.bits >= 32 && IsInteger(to)) out.warp_base = v.warp_base;
  return out;
}

Val Compiler::EncodeElement(const Val& a, DType to) {
  // Integers go through float64, which holds 53 bits: one rounding.
  Val f = IsFloat(a.t) ? a : ConvertElement(a, kFloat64);
  Val out{to, false, NewRows(1)};
  Emit(EncodeFn(to, ClassOf(f.t)), Kind::kConvert, out.reg, f.reg);
  return out;
}

Val Compiler::CompileRamp(const RampNode* n) {
  Val base = Expr(n->base), stride = Expr(n->stride);
  return PerElement(n->dtype, [&](int i) {
    Val step = BinaryVals(BinOp::kMul, stride, Constant(stride.t, i));
    return BinaryVals(BinOp::kAdd, base, step);
  });
}

Val Compiler::CompileBroadcast(const BroadcastNode* n) {
  Val v = Expr(n->value);
  return PerElement(n->dtype, [&](int) { return v; });
}

}  // namespace sim
}  // namespace tirx
