#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>

#include <array>

namespace tirx {
namespace {

constexpr int kSlots = StmtNode::_type_child_slots + 1;

#define TIRX_STMT_KINDS(X)                                                                   \
  X(SeqStmt) X(Bind) X(AllocBuffer) X(DeclBuffer) X(BufferStore) X(Evaluate) X(For) X(While) \
  X(Break) X(Continue) X(IfThenElse) X(Assert) X(ScopeIdDef) X(ExecScope) X(Filter)          \
  X(DeviceEntry) X(AttrStmt) X(TilePrimitiveCall)

std::array<StmtKind, kSlots> MakeKindTable() {
  std::array<StmtKind, kSlots> table;
  table.fill(StmtKind::kOther);
  auto set = [&](int32_t index, StmtKind kind) {
    int32_t slot = index - StmtNode::RuntimeTypeIndex();
    if (slot >= 0 && slot < kSlots) table[slot] = kind;
  };
#define TIRX_SET(Name) set(Name##Node::RuntimeTypeIndex(), StmtKind::k##Name);
  TIRX_STMT_KINDS(TIRX_SET)
#undef TIRX_SET
  return table;
}

template <typename Ref>
Ref As(const Stmt& s) {
  return GetRef<Ref>(static_cast<const typename Ref::ContainerType*>(s.get()));
}

bool SameArray(const ffi::Array<PrimExpr>& a, const ffi::Array<PrimExpr>& b) {
  return a.same_as(b);
}

}  // namespace

StmtKind KindOf(const StmtNode* n) {
  static const std::array<StmtKind, kSlots> table = MakeKindTable();
  static const int32_t base = StmtNode::RuntimeTypeIndex();
  uint32_t slot = static_cast<uint32_t>(n->type_index() - base);
  return slot < kSlots ? table[slot] : StmtKind::kOther;
}

// ---- visitor ----

void StmtVisitor::VisitStmt(const Stmt& s) {
  switch (KindOf(s)) {
#define TIRX_CASE(Name) \
  case StmtKind::k##Name: return Visit##Name(static_cast<const Name##Node*>(s.get()));
    TIRX_STMT_KINDS(TIRX_CASE)
#undef TIRX_CASE
    case StmtKind::kOther: return;
  }
}

void StmtVisitor::VisitOther(const PrimExprNode* n) {
  if (n->IsInstance<BufferLoadNode>()) VisitBufferLoad(static_cast<const BufferLoadNode*>(n));
}
void StmtVisitor::VisitBufferLoad(const BufferLoadNode* n) {
  VisitBuffer(n->buffer);
  for (const PrimExpr& i : n->indices) VisitExpr(i);
}
void StmtVisitor::VisitSeqStmt(const SeqStmtNode* n) {
  for (const Stmt& s : n->seq) VisitStmt(s);
}
void StmtVisitor::VisitBind(const BindNode* n) { VisitExpr(n->value); }
void StmtVisitor::VisitAllocBuffer(const AllocBufferNode* n) { VisitBuffer(n->buffer); }
void StmtVisitor::VisitDeclBuffer(const DeclBufferNode* n) { VisitBuffer(n->buffer); }
void StmtVisitor::VisitBufferStore(const BufferStoreNode* n) {
  VisitBuffer(n->buffer);
  for (const PrimExpr& i : n->indices) VisitExpr(i);
  VisitExpr(n->value);
}
void StmtVisitor::VisitEvaluate(const EvaluateNode* n) { VisitExpr(n->value); }
void StmtVisitor::VisitFor(const ForNode* n) {
  VisitExpr(n->min);
  VisitExpr(n->extent);
  VisitStmt(n->body);
}
void StmtVisitor::VisitWhile(const WhileNode* n) {
  VisitExpr(n->cond);
  VisitStmt(n->body);
}
void StmtVisitor::VisitIfThenElse(const IfThenElseNode* n) {
  VisitExpr(n->cond);
  VisitStmt(n->then_case);
  if (n->else_case.has_value()) VisitStmt(n->else_case.value());
}
void StmtVisitor::VisitAssert(const AssertNode* n) { VisitExpr(n->cond); }
void StmtVisitor::VisitScopeIdDef(const ScopeIdDefNode* n) {
  for (const PrimExpr& e : n->extents) VisitExpr(e);
}
void StmtVisitor::VisitExecScope(const ExecScopeNode* n) { VisitStmt(n->body); }
void StmtVisitor::VisitFilter(const FilterNode* n) {
  VisitExpr(n->cond);
  VisitStmt(n->body);
}
void StmtVisitor::VisitAttrStmt(const AttrStmtNode* n) { VisitAny(n->value); }
void StmtVisitor::VisitTilePrimitiveCall(const TilePrimitiveCallNode* n) {
  for (const ffi::Any& a : n->args) VisitAny(a);
  for (const auto& [name, b] : n->workspace) VisitBuffer(b);
  for (const auto& [name, v] : n->config) VisitAny(v);
}
void StmtVisitor::VisitAny(const ffi::Any& value) {
  if (auto e = value.as<PrimExpr>(); e && value.as<PrimExprNode>()) {
    VisitExpr(*e);
  } else if (auto* r = value.as<BufferRegionNode>()) {
    VisitBuffer(r->buffer);
    for (const Range& g : r->region) {
      VisitExpr(g->min);
      VisitExpr(g->extent);
    }
  } else if (auto b = value.as<Buffer>()) {
    VisitBuffer(*b);
  } else if (auto a = value.as<ffi::Array<ffi::Any>>()) {
    for (const ffi::Any& v : *a) VisitAny(v);
  }
}

// ---- mutator ----

Stmt StmtMutator::VisitStmt(const Stmt& s) {
  switch (KindOf(s)) {
    case StmtKind::kBreak:
    case StmtKind::kContinue:
    case StmtKind::kDeviceEntry:
    case StmtKind::kOther: return s;
#define TIRX_CASE(Name) \
  case StmtKind::k##Name: return Visit##Name(As<Name>(s));
    TIRX_CASE(SeqStmt) TIRX_CASE(Bind) TIRX_CASE(AllocBuffer) TIRX_CASE(DeclBuffer)
    TIRX_CASE(BufferStore) TIRX_CASE(Evaluate) TIRX_CASE(For) TIRX_CASE(While)
    TIRX_CASE(IfThenElse) TIRX_CASE(Assert) TIRX_CASE(ScopeIdDef) TIRX_CASE(ExecScope)
    TIRX_CASE(Filter) TIRX_CASE(AttrStmt) TIRX_CASE(TilePrimitiveCall)
#undef TIRX_CASE
  }
  return s;
}

PrimExpr StmtMutator::VisitOther(const PrimExpr& e) {
  if (auto* n = e.as<BufferLoadNode>()) return VisitBufferLoad(GetRef<BufferLoad>(n));
  return e;
}
PrimExpr StmtMutator::VisitBufferLoad(const BufferLoad& e) {
  Buffer b = VisitBuffer(e->buffer);
  ffi::Array<PrimExpr> idx = VisitArray(e->indices);
  if (b.same_as(e->buffer) && SameArray(idx, e->indices)) return e;
  return BufferLoad(b, idx, e->span);
}
Stmt StmtMutator::VisitSeqStmt(const SeqStmt& s) {
  ffi::Array<Stmt> out;
  bool changed = false;
  for (const Stmt& c : s->seq) {
    Stmt v = VisitStmt(c);
    changed = changed || !v.same_as(c);
    out.push_back(std::move(v));
  }
  return changed ? MakeSeq(out, s->span) : Stmt(s);
}
Stmt StmtMutator::VisitBind(const Bind& s) {
  PrimExpr v = VisitExpr(s->value);
  return v.same_as(s->value) ? Stmt(s) : MakeBind(s->var, v, s->span);
}
Stmt StmtMutator::VisitAllocBuffer(const AllocBuffer& s) {
  Buffer b = VisitBuffer(s->buffer);
  return b.same_as(s->buffer) ? Stmt(s) : MakeAllocBuffer(b, s->span);
}
Stmt StmtMutator::VisitDeclBuffer(const DeclBuffer& s) {
  Buffer b = VisitBuffer(s->buffer);
  return b.same_as(s->buffer) ? Stmt(s) : MakeDeclBuffer(b, s->span);
}
Stmt StmtMutator::VisitBufferStore(const BufferStore& s) {
  Buffer b = VisitBuffer(s->buffer);
  ffi::Array<PrimExpr> idx = VisitArray(s->indices);
  PrimExpr v = VisitExpr(s->value);
  if (b.same_as(s->buffer) && SameArray(idx, s->indices) && v.same_as(s->value)) return s;
  return MakeBufferStore(b, v, idx, s->span);
}
Stmt StmtMutator::VisitEvaluate(const Evaluate& s) {
  PrimExpr v = VisitExpr(s->value);
  return v.same_as(s->value) ? Stmt(s) : MakeEvaluate(v, s->span);
}
Stmt StmtMutator::VisitFor(const For& s) {
  PrimExpr lo = VisitExpr(s->min), n = VisitExpr(s->extent);
  Stmt body = VisitStmt(s->body);
  if (lo.same_as(s->min) && n.same_as(s->extent) && body.same_as(s->body)) return s;
  return MakeFor(s->loop_var, lo, n, s->kind, body, s->annotations, s->span);
}
Stmt StmtMutator::VisitWhile(const While& s) {
  PrimExpr c = VisitExpr(s->cond);
  Stmt body = VisitStmt(s->body);
  if (c.same_as(s->cond) && body.same_as(s->body)) return s;
  return MakeWhile(c, body, s->span);
}
Stmt StmtMutator::VisitIfThenElse(const IfThenElse& s) {
  PrimExpr c = VisitExpr(s->cond);
  Stmt t = VisitStmt(s->then_case);
  ffi::Optional<Stmt> f = s->else_case;
  if (f.has_value()) f = VisitStmt(f.value());
  bool same_else = !f.has_value() || f.value().same_as(s->else_case.value());
  if (c.same_as(s->cond) && t.same_as(s->then_case) && same_else) return s;
  return MakeIf(c, t, f, s->span);
}
Stmt StmtMutator::VisitAssert(const Assert& s) {
  PrimExpr c = VisitExpr(s->cond);
  return c.same_as(s->cond) ? Stmt(s) : MakeAssert(c, s->message, s->span);
}
Stmt StmtMutator::VisitScopeIdDef(const ScopeIdDef& s) {
  ffi::Array<PrimExpr> ext = VisitArray(s->extents);
  if (SameArray(ext, s->extents)) return s;
  return MakeScopeIdDef(s->vars, s->kind, ext, s->attrs, s->span);
}
Stmt StmtMutator::VisitExecScope(const ExecScope& s) {
  Stmt body = VisitStmt(s->body);
  return body.same_as(s->body) ? Stmt(s) : MakeExecScope(s->scope, body, s->span);
}
Stmt StmtMutator::VisitFilter(const Filter& s) {
  PrimExpr c = VisitExpr(s->cond);
  Stmt body = VisitStmt(s->body);
  if (c.same_as(s->cond) && body.same_as(s->body)) return s;
  return MakeFilter(c, body, s->span);
}
Stmt StmtMutator::VisitAttrStmt(const AttrStmt& s) {
  ffi::Any v = VisitAny(s->value);
  return v.same_as(s->value) ? Stmt(s) : MakeAttrStmt(s->key, v, s->span);
}
Stmt StmtMutator::VisitTilePrimitiveCall(const TilePrimitiveCall& s) {
  bool changed = false;
  ffi::Array<ffi::Any> args;
  for (const ffi::Any& a : s->args) {
    ffi::Any v = VisitAny(a);
    changed = changed || !v.same_as(a);
    args.push_back(std::move(v));
  }
  ffi::Map<ffi::String, Buffer> workspace;
  for (const auto& [name, b] : s->workspace) {
    Buffer v = VisitBuffer(b);
    changed = changed || !v.same_as(b);
    workspace.Set(name, v);
  }
  ffi::Map<ffi::String, ffi::Any> config;
  for (const auto& [name, c] : s->config) {
    ffi::Any v = VisitAny(c);
    changed = changed || !v.same_as(c);
    config.Set(name, v);
  }
  if (!changed) return s;
  return MakeTilePrimitiveCall(s->op, args, s->scope, s->dispatch, workspace, config, s->span);
}

Buffer StmtMutator::VisitBuffer(const Buffer& b) {
  auto it = buffer_remap_.find(b.get());
  if (it != buffer_remap_.end()) return it->second;
  ffi::Array<PrimExpr> shape = VisitArray(b->shape);
  PrimExpr offset = VisitExpr(b->elem_offset);
  PrimExpr data = VisitExpr(b->data);
  auto* var = data.as<VarNode>();
  Buffer out = b;
  bool new_data = var != nullptr && !data.same_as(b->data);
  if (!SameArray(shape, b->shape) || !offset.same_as(b->elem_offset) || new_data) {
    Var d = new_data ? GetRef<Var>(var) : b->data;
    out = Buffer(b->name, d, shape, b->dtype, b->layout, b->scope, offset, b->align,
                 b->allocated_addr, b->span);
  }
  buffer_remap_.emplace(b.get(), out);
  return out;
}

BufferRegion StmtMutator::VisitRegion(const BufferRegion& r) {
  Buffer b = VisitBuffer(r->buffer);
  bool changed = !b.same_as(r->buffer);
  ffi::Array<Range> region;
  for (const Range& g : r->region) {
    PrimExpr lo = VisitExpr(g->min), n = VisitExpr(g->extent);
    bool same = lo.same_as(g->min) && n.same_as(g->extent);
    changed = changed || !same;
    region.push_back(same ? g : Range(lo, n));
  }
  return changed ? BufferRegion(b, region, r->squeezed, r->span) : r;
}

ffi::Any StmtMutator::VisitAny(const ffi::Any& value) {
  if (value.as<PrimExprNode>()) return VisitExpr(value.cast<PrimExpr>());
  if (auto* r = value.as<BufferRegionNode>()) return VisitRegion(GetRef<BufferRegion>(r));
  if (auto* b = value.as<BufferNode>()) return VisitBuffer(GetRef<Buffer>(b));
  if (value.as<ffi::ArrayObj>()) {
    auto a = value.cast<ffi::Array<ffi::Any>>();
    ffi::Array<ffi::Any> out;
    bool changed = false;
    for (const ffi::Any& v : a) {
      ffi::Any w = VisitAny(v);
      changed = changed || !w.same_as(v);
      out.push_back(std::move(w));
    }
    return changed ? ffi::Any(out) : value;
  }
  return value;
}

namespace {

class Substituter : public StmtMutator {
 public:
  explicit Substituter(const ffi::Map<Var, PrimExpr>& values) : values_(values) {}

 protected:
  PrimExpr VisitVar(const Var& e) override {
    auto it = values_.find(e);
    return it == values_.end() ? PrimExpr(e) : (*it).second;
  }

 private:
  const ffi::Map<Var, PrimExpr>& values_;
};

}  // namespace

Stmt Substitute(const Stmt& s, const ffi::Map<Var, PrimExpr>& values) {
  return Substituter(values)(s);
}
PrimExpr Substitute(const PrimExpr& e, const ffi::Map<Var, PrimExpr>& values) {
  return Substituter(values)(e);
}

}  // namespace tirx
