/*!
 * From expressions to nodes.
 */
#include "graph.h"

namespace tirx {
namespace arith {
namespace {

bool IsScalarInt(DType t) { return IsInteger(t) && t.lanes == 1; }
bool IsLinear(BinOp op) { return op == BinOp::kAdd || op == BinOp::kSub || op == BinOp::kMul; }

constexpr int kMaxLetDepth = 32;
constexpr size_t kMaxRetried = 16;

/*! v modulo 2^bits as a value of dtype t (fewer than 64 bits). */
int64_t WrapToDType(int64_t v, DType t) {
  int64_t r = FloorModInt(v, int64_t{1} << t.bits);
  return r > MaxValue(t) ? r - (int64_t{1} << t.bits) : r;
}

template <typename T>
const T* Down(const PrimExpr& e) {
  return static_cast<const T*>(e.get());
}

}  // namespace

/*! The slot of `e` in the memo of this graph. */
Graph::Converted* Graph::FindConverted(const PrimExprNode* e) {
  size_t mask = converted_.size() - 1;
  size_t i = (reinterpret_cast<uintptr_t>(e) >> 4) * 0x9e3779b97f4a7c15ull >> 20 & mask;
  while (converted_[i].generation == generation_ && converted_[i].expr != e) i = (i + 1) & mask;
  return &converted_[i];
}

void Graph::GrowConverted() {
  std::vector<Converted> old(converted_.size() * 4);
  old.swap(converted_);
  for (const Converted& c : old) {
    if (c.generation == generation_) *FindConverted(c.expr) = c;
  }
}

Id Graph::Convert(const PrimExpr& e) {
  switch (KindOf(e)) {
    case ExprKind::kVar: return ConvertVar(Down<VarNode>(e));
    case ExprKind::kIntImm: {
      const IntImmNode* n = Down<IntImmNode>(e);
      bool big = IsUnsigned(n->dtype) && n->dtype.bits == 64 && n->value < 0;
      return big ? ConvertLeaf(e, false) : Const(n->dtype, n->value);
    }
    case ExprKind::kFloatImm:
    case ExprKind::kStringImm: return ConvertLeaf(e, false);
    case ExprKind::kOther: return ConvertLeaf(e, true);
    default: break;
  }
  Converted* c = FindConverted(e.get());
  if (c->generation == generation_ && c->epoch == epochs_.back()) return c->id;
  Id id = ConvertNew(e);
  bool scalar = IsScalarInt(e->dtype) || e->dtype == kBool;
  if (scalar && nodes_[id].kind != Kind::kConst && !nodes_[id].traps) {
    ConstBound b = BoundOf(id);
    if (IsPoint(b)) id = Const(e->dtype, b.min);
  }
  if (2 * (num_converted_ + 1) > converted_.size()) GrowConverted();
  c = FindConverted(e.get());
  if (c->generation != generation_) ++num_converted_;
  *c = {e.get(), id, epochs_.back(), generation_};
  return id;
}

Id Graph::ConvertNew(const PrimExpr& e) {
  switch (KindOf(e)) {
    case ExprKind::kBinary: return ConvertBinary(Down<BinaryNode>(e), e);
    case ExprKind::kNot: return MakeNot(Convert(Down<NotNode>(e)->a));
    case ExprKind::kSelect: return ConvertSelect(Down<SelectNode>(e));
    case ExprKind::kCast: return ConvertCast(Down<CastNode>(e));
    case ExprKind::kRamp: {
      const RampNode* n = Down<RampNode>(e);
      Id base = Convert(n->base);
      return ConvertVector(Kind::kRamp, base, Convert(n->stride), n->lanes, n->dtype);
    }
    case ExprKind::kBroadcast: {
      const BroadcastNode* n = Down<BroadcastNode>(e);
      return ConvertVector(Kind::kBroadcast, Convert(n->value), kNone, n->lanes, n->dtype);
    }
    case ExprKind::kCall: return ConvertCall(Down<CallNode>(e));
    default: return ConvertLeaf(e, true);
  }
}

/*! opaque: a load, or a node this room does not know: evaluated where it stands, never merged. */
Id Graph::ConvertLeaf(const PrimExpr& e, bool opaque) {
  Node n;
  n.kind = Kind::kLeaf;
  n.dtype = e->dtype;
  n.origin = e.get();
  n.traps = n.unique = opaque;
  return Intern(std::move(n), nullptr, 0);
}

Id Graph::ConvertVar(const VarNode* v) {
  Node n;
  n.kind = Kind::kLeaf;
  n.dtype = v->dtype;
  n.origin = v;
  auto it = facts_->vars.find(v);
  if (it != facts_->vars.end()) {
    const VarFact& f = it->second;
    if (proving_ && f.value && let_depth_ < kMaxLetDepth) {
      ++let_depth_;
      Id id = Convert(*f.value);
      --let_depth_;
      return id;
    }
    n.has_fact = true;
    n.fact = f.bound;
    n.modular_fact = f.modular;
  }
  Id id = Intern(std::move(n), nullptr, 0);
  bool scalar = (IsInteger(v->dtype) || IsBool(v->dtype)) && v->dtype.lanes == 1;
  if (!scalar || !nodes_[id].has_fact) return id;
  ConstBound b = BoundOf(id);
  return IsPoint(b) ? Const(v->dtype, b.min) : id;
}

Id Graph::ConvertVector(Kind kind, Id a, Id b, int lanes, DType t) {
  Node n;
  n.kind = kind;
  n.dtype = t;
  n.a = a;
  n.b = b;
  n.value = lanes;
  n.traps = nodes_[a].traps || (b != kNone && nodes_[b].traps);
  n.unique = nodes_[a].unique || (b != kNone && nodes_[b].unique);
  return Intern(std::move(n), nullptr, 0);
}

Id Graph::ConvertBinary(const BinaryNode* n, const PrimExpr& e) {
  BinOp op = n->kind();
  if (IsLogical(op) && n->dtype.lanes == 1) return ConvertLogical(n);
  if (IsScalarInt(n->a->dtype)) return ConvertInteger(n, e);
  Id a = Convert(n->a);
  return MakeBinaryNode(op, a, Convert(n->b), n->dtype);
}

Id Graph::ConvertInteger(const BinaryNode* n, const PrimExpr& e) {
  BinOp op = n->kind();
  DType t = n->a->dtype;
  if (IsLinear(op) && IsSigned(t)) return ConvertLinear(n, e);
  Id a = Convert(n->a), b = Convert(n->b);
  if (IsComparison(op)) return MakeCompare(op, a, b);
  if (IsLinear(op)) return ConvertUnsigned(op, a, b, t);
  switch (op) {
    case BinOp::kMin:
    case BinOp::kMax: return MakeMinMax(op, a, b);
    case BinOp::kBitAnd:
    case BinOp::kBitOr:
    case BinOp::kBitXor: return MakeBits(op, a, b, t);
    case BinOp::kShl:
    case BinOp::kShr: return MakeShift(op, a, b, t);
    default: return ConvertDivision(op, a, b, t);
  }
}

// ---- signed linear arithmetic ---------------------------------------------------------------

/*! A whole tree of +, - and * by constants becomes one form; if that cannot be emitted safely, the
 *  operation stays as it was written. Below a large tree that failed, each operation is tried on its
 *  operands only: trying every subtree anew would take quadratic time. */
Id Graph::ConvertLinear(const BinaryNode* n, const PrimExpr& e) {
  DType t = n->dtype;
  Affine s;
  if (operand_wise_ > 0) {
    s.ok = false;
  } else if (!AccumulateParts(n, 1, &s)) {
    Id a = Convert(n->a);
    return MakeMul(a, Convert(n->b), t);
  }
  bool large = s.terms.size() > kMaxRetried;
  Id id = s.ok ? MakeSum(std::move(s), t, true) : kNone;
  if (id != kNone) return id;
  operand_wise_ += large;
  Id a = Convert(n->a), b = Convert(n->b);
  operand_wise_ -= large;
  if (n->kind() == BinOp::kMul) return MakeMul(a, b, t);
  Affine outer;
  AddValue(&outer, a, 1, false);
  AddValue(&outer, b, n->kind() == BinOp::kAdd ? 1 : -1, false);
  id = MakeSum(std::move(outer), t, true);
  return id != kNone ? id : MakeBinaryNode(n->kind(), a, b, t);
}

/*! s += k * n for n = a + b, a - b, a * const; false for other operations. */
bool Graph::AccumulateParts(const BinaryNode* n, int64_t k, Affine* s) {
  int64_t v;
  switch (n->kind()) {
    case BinOp::kAdd:
    case BinOp::kSub:
      if (k == INT64_MIN) return false;
      Accumulate(n->a, k, s);
      Accumulate(n->b, n->kind() == BinOp::kAdd ? k : -k, s);
      return true;
    case BinOp::kMul: {
      auto ca = AsInt(n->a), cb = AsInt(n->b);
      if (!ca && !cb) return false;
      if (__builtin_mul_overflow(k, cb ? *cb : *ca, &v))
        s->ok = false;
      else
        Accumulate(cb ? n->a : n->b, v, s);
      return true;
    }
    default: return false;
  }
}

void Graph::Accumulate(const PrimExpr& e, int64_t k, Affine* s) {
  // A shared subtree is converted once; opening it at every use would cost its size each time.
  if (KindOf(e) == ExprKind::kBinary && e.use_count() == 1) {
    const BinaryNode* n = Down<BinaryNode>(e);
    if (IsLinear(n->kind()) && AccumulateParts(n, k, s)) return;
  }
  AddScaled(s, Convert(e), k);
}

Id Graph::MakeMul(Id a, Id b, DType t) {
  if (IsUnsigned(t)) return ConvertUnsigned(BinOp::kMul, a, b, t);
  if (nodes_[a].kind == Kind::kConst && nodes_[b].kind != Kind::kConst) std::swap(a, b);
  if (nodes_[b].kind == Kind::kConst) {
    Affine s;
    AddScaled(&s, a, nodes_[b].value);
    Id id = MakeSum(std::move(s), t, true);
    return id != kNone ? id : MakeBinaryNode(BinOp::kMul, a, b, t);
  }
  return MakeProduct(a, b, t);
}

/*! a * b, neither constant, known to fit t. */
Id Graph::MakeProduct(Id a, Id b, DType t) {
  if (nodes_[a].unique || nodes_[b].unique) return MakeBinaryNode(BinOp::kMul, a, b, t);
  if (proving_) {
    Id id = Distribute(a, b, t);
    if (id != kNone) return id;
  }
  int64_t factor = 1, f;
  Id whole_a = a, whole_b = b;
  for (Id* side : {&a, &b}) {
    Affine s = FormOf(*side);
    if (s.terms.size() != 1 || s.base != 0 || s.terms[0].coeff < 2) continue;
    if (!(nodes_[s.terms[0].atom].dtype == t)) continue;
    if (__builtin_mul_overflow(factor, s.terms[0].coeff, &f)) continue;
    factor = f;
    *side = s.terms[0].atom;
  }
  if (a > b) std::swap(a, b);
  Node n;
  n.kind = Kind::kProduct;
  n.dtype = t;
  n.a = a;
  n.b = b;
  n.traps = nodes_[a].traps || nodes_[b].traps;
  Id id = Intern(std::move(n), nullptr, 0);
  if (factor == 1) return id;
  Affine s;
  AddTerm(&s, id, factor);
  id = MakeSum(std::move(s), t, true);
  return id != kNone ? id : MakeBinaryNode(BinOp::kMul, whole_a, whole_b, t);
}

/*! The product of two sums multiplied out, when one of them has several parts. */
Id Graph::Distribute(Id a, Id b, DType t) {
  Affine x = FormOf(a), y = FormOf(b), out;
  auto parts = [](const Affine& s) { return s.terms.size() + (s.base != 0); };
  if (!x.ok || !y.ok || (parts(x) < 2 && parts(y) < 2) || parts(x) * parts(y) > 16) return kNone;
  int64_t k;
  for (const Term& u : x.terms) {
    for (const Term& v : y.terms) {
      if (__builtin_mul_overflow(u.coeff, v.coeff, &k)) return kNone;
      AddScaled(&out, MakeProduct(u.atom, v.atom, t), k);
    }
  }
  AddAffine(&out, Affine(x.terms, 0), y.base);
  AddAffine(&out, Affine(y.terms, 0), x.base);
  if (__builtin_mul_overflow(x.base, y.base, &k)) return kNone;
  out.AddBase(k);
  return MakeSum(std::move(out), t, true);
}

// ---- unsigned -------------------------------------------------------------------------------

/*! Like AddScaled, but also opens sums of the same unsigned dtype that hold modulo 2^bits. */
void Graph::AddModuloForm(Affine* s, Id id, int64_t k, DType t) {
  const Node& n = nodes_[id];
  if (n.kind != Kind::kSum || !n.wraps || !(n.dtype == t)) return AddScaled(s, id, k);
  Affine form(n.value);
  for (int32_t i = 0; i < n.num_terms; ++i) form.terms.push_back(TermsOf(n)[i]);
  AddAffine(s, form, k);
}

Id Graph::ConvertUnsigned(BinOp op, Id a, Id b, DType t) {
  if (op == BinOp::kMul && nodes_[a].kind == Kind::kConst && nodes_[b].kind != Kind::kConst) {
    std::swap(a, b);
  }
  Affine s;
  if (op != BinOp::kMul) {
    AddModuloForm(&s, a, 1, t);
    AddModuloForm(&s, b, op == BinOp::kAdd ? 1 : -1, t);
  } else if (nodes_[b].kind == Kind::kConst) {
    AddModuloForm(&s, a, nodes_[b].value, t);
  } else {
    ConstBound p = MulBound(BoundOf(a), BoundOf(b));
    if (!IsPosInf(p.max) && Within(p, 0, MaxValue(t))) return MakeProduct(a, b, t);
    s.ok = false;
  }
  Id id = MakeWrappingSum(std::move(s), t);
  return id != kNone ? id : MakeBinaryNode(op, a, b, t);
}

// ---- the rest -------------------------------------------------------------------------------

Id Graph::ConvertDivision(BinOp op, Id a, Id b, DType t) {
  bool truncates = op == BinOp::kTruncDiv || op == BinOp::kTruncMod;
  if (truncates && !IsUnsigned(t)) {
    const Node& d = nodes_[b];
    bool same = BoundOf(a).min >= 0 && BoundOf(b).min > 0;
    if (!same && d.kind == Kind::kConst && d.value > 0) {
      ModularSet m = ModularOf(a);
      same = m.coeff % d.value == 0 && m.base % d.value == 0;
    }
    if (!same) return MakeBinaryNode(op, a, b, t);
  }
  bool quotient = op == BinOp::kFloorDiv || op == BinOp::kTruncDiv;
  return quotient ? MakeFloorDiv(a, b, t) : MakeFloorMod(a, b, t);
}

Id Graph::ConvertLogical(const BinaryNode* n) {
  Id a = Convert(n->a);
  if (nodes_[a].kind == Kind::kConst && nodes_[a].value == (n->kind() == BinOp::kOr)) return a;
  LocalContext context(this, a, n->kind() == BinOp::kAnd);
  return MakeLogical(n->kind(), a, Convert(n->b));
}

Id Graph::ConvertSelect(const SelectNode* n) {
  Id cond = Convert(n->cond);
  if (nodes_[cond].kind == Kind::kConst) {
    return Convert(nodes_[cond].value ? n->true_value : n->false_value);
  }
  Id arms[2];
  for (bool truth : {true, false}) {
    LocalContext context(this, cond, truth);
    arms[truth] = Convert(truth ? n->true_value : n->false_value);
  }
  return MakeSelect(cond, arms[1], arms[0]);
}

Id Graph::ConvertCast(const CastNode* n) {
  Id value = Convert(n->value);
  DType t = n->dtype, from = nodes_[value].dtype;
  if (from == t) return value;
  bool integers = IsScalarInt(t) && IsScalarInt(from);
  if (integers) return MakeIntCast(value, t);
  if (IsScalarInt(t) && IsBool(from) && nodes_[value].kind == Kind::kConst) {
    return Const(t, nodes_[value].value);
  }
  return MakeOpaqueCast(value, t);
}

Id Graph::MakeIntCast(Id value, DType t) {
  // Wrapping to a type at least as wide first changes nothing.
  while (nodes_[value].kind == Kind::kCast && nodes_[value].dtype.bits >= t.bits &&
         IsScalarInt(nodes_[nodes_[value].a].dtype)) {
    value = nodes_[value].a;
  }
  if (nodes_[value].dtype == t) return value;
  if (nodes_[value].kind == Kind::kConst && t.bits < 64) {
    return Const(t, WrapToDType(nodes_[value].value, t));
  }
  if (ConvertsTo(value, t)) {
    Id id = MakeSum(FormOf(value), t, true);
    if (id != kNone) return id;
  }
  return MakeOpaqueCast(value, t);
}

Id Graph::MakeOpaqueCast(Id value, DType t) {
  Node out;
  out.kind = Kind::kCast;
  out.dtype = t;
  out.a = value;
  out.traps = nodes_[value].traps;
  out.unique = nodes_[value].unique;
  return Intern(std::move(out), nullptr, 0);
}

Id Graph::ConvertCall(const CallNode* n) {
  Node out;
  out.kind = Kind::kCall;
  out.dtype = n->dtype;
  out.origin = n;
  bool pure = IsPureIntrinsic(n->op);
  out.traps = !pure;
  out.unique = !pure || !n->attrs.empty();
  Terms args;
  for (const PrimExpr& arg : n->args) {
    Id id = Convert(arg);
    out.traps = out.traps || nodes_[id].traps;
    out.unique = out.unique || nodes_[id].unique;
    args.push_back({id, 0});
  }
  return Intern(std::move(out), args.begin(), args.size());
}

}  // namespace arith
}  // namespace tirx
