#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>
#include <tirx/support/diag.h>

#include <array>
#include <string>

namespace tirx {
namespace {

constexpr int kSlots = StmtNode::_type_child_slots + 1;

// clang-format off
#define TIRX_STMT_KINDS(X)                                                                   \
  X(SeqStmt) X(Bind) X(AllocBuffer) X(DeclBuffer) X(BufferStore) X(Evaluate) X(For) X(While) \
  X(Break) X(Continue) X(IfThenElse) X(Assert) X(ScopeIdDef) X(ExecScope) X(Filter)          \
  X(DeviceEntry) X(AttrStmt) X(TilePrimitiveCall)
// clang-format on

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
  if (value.as<PrimExprNode>()) {
    VisitExpr(value.cast<PrimExpr>());
  } else if (auto* r = value.as<BufferRegionNode>()) {
    VisitRegion(GetRef<BufferRegion>(r));
  } else if (auto* b = value.as<BufferNode>()) {
    VisitBuffer(GetRef<Buffer>(b));
  } else if (auto* g = value.as<RangeNode>()) {
    VisitExpr(g->min);
    VisitExpr(g->extent);
  } else if (auto* l = value.as<LayoutNode>()) {
    VisitLayoutExprs(GetRef<Layout>(l));
  } else if (value.as<ffi::ArrayObj>()) {
    for (const ffi::Any& v : value.cast<ffi::Array<ffi::Any>>()) VisitAny(v);
  } else if (value.as<ffi::MapObj>()) {
    for (const auto& [k, v] : value.cast<ffi::Map<ffi::Any, ffi::Any>>()) VisitAny(v);
  }
}
void StmtVisitor::VisitRegion(const BufferRegion& r) {
  VisitBuffer(r->buffer);
  for (const Range& g : r->region) VisitAny(g);
}
void StmtVisitor::VisitBufferExprs(const Buffer& b) {
  for (const PrimExpr& e : b->shape) VisitExpr(e);
  VisitExpr(b->elem_offset);
  if (b->allocated_addr.has_value()) VisitExpr(*b->allocated_addr);
  VisitLayoutExprs(b->layout);
}
void StmtVisitor::VisitLayoutExprs(const Layout& layout) {
  if (auto* c = layout.as<ComposeLayoutNode>()) return VisitLayoutExprs(c->tile);
  auto* t = layout.as<TileLayoutNode>();
  if (t == nullptr) return;
  for (const auto& iters : {t->shard, t->replica}) {
    for (const Iter& it : iters) {
      VisitExpr(it->extent);
      VisitExpr(it->stride);
    }
  }
  for (const auto& [axis, e] : t->offset) VisitExpr(e);
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
      // clang-format off
    TIRX_CASE(SeqStmt) TIRX_CASE(Bind) TIRX_CASE(AllocBuffer) TIRX_CASE(DeclBuffer)
    TIRX_CASE(BufferStore) TIRX_CASE(Evaluate) TIRX_CASE(For) TIRX_CASE(While)
    TIRX_CASE(IfThenElse) TIRX_CASE(Assert) TIRX_CASE(ScopeIdDef) TIRX_CASE(ExecScope)
    TIRX_CASE(Filter) TIRX_CASE(AttrStmt) TIRX_CASE(TilePrimitiveCall)
      // clang-format on
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
  if (b.same_as(e->buffer) && idx.same_as(e->indices)) return e;
  return BufferLoad(b, idx, e->span);
}
Stmt StmtMutator::VisitSeqStmt(const SeqStmt& s) {
  ffi::Array<Stmt> out = s->seq;  // shares storage until the first change
  for (size_t i = 0; i < s->seq.size(); ++i) {
    Stmt c = s->seq[i], v = VisitStmt(c);
    if (!v.same_as(c)) out.Set(static_cast<int64_t>(i), std::move(v));
  }
  return out.same_as(s->seq) ? Stmt(s) : MakeSeq(out, s->span);
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
  if (b.same_as(s->buffer) && idx.same_as(s->indices) && v.same_as(s->value)) return s;
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
  if (ext.same_as(s->extents)) return s;
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
  auto args = VisitAny(s->args).cast<ffi::Array<ffi::Any>>();
  auto workspace = VisitAny(s->workspace).cast<ffi::Map<ffi::String, Buffer>>();
  auto config = VisitAny(s->config).cast<ffi::Map<ffi::String, ffi::Any>>();
  if (args.same_as(s->args) && workspace.same_as(s->workspace) && config.same_as(s->config)) {
    return s;
  }
  return MakeTilePrimitiveCall(s->op, args, s->scope, s->dispatch, workspace, config, s->span);
}

Buffer StmtMutator::VisitBuffer(const Buffer& b) {
  auto it = buffer_remap_.find(b.get());
  if (it != buffer_remap_.end()) return it->second;
  Buffer out = RebuildBuffer(b);
  remapped_.push_back(b);
  buffer_remap_.emplace(b.get(), out);
  return out;
}

Buffer StmtMutator::RebuildBuffer(const Buffer& b) {
  ffi::Array<PrimExpr> shape = VisitArray(b->shape);
  PrimExpr offset = VisitExpr(b->elem_offset);
  ffi::Optional<PrimExpr> addr = b->allocated_addr;
  if (addr.has_value()) addr = VisitExpr(*addr);
  Layout layout = VisitLayout(b->layout);
  PrimExpr data = VisitExpr(b->data);
  bool same_addr = !addr.has_value() || addr.value().same_as(*b->allocated_addr);
  if (shape.same_as(b->shape) && offset.same_as(b->elem_offset) && same_addr &&
      layout.same_as(b->layout) && data.same_as(b->data)) {
    return b;
  }
  auto* var = data.as<VarNode>();
  if (var == nullptr) {
    Diag("type", "pointer-replaced", b->span)
        .Message("the pointer of buffer " + std::string(b->name) + " was replaced by an expression")
        .Found(data->GetTypeKey())
        .Required("a variable")
        .Throw();
  }
  return Buffer(b->name, GetRef<Var>(var), shape, b->dtype, layout, b->scope, offset, b->align,
                addr, b->span);
}

Range StmtMutator::VisitRange(const Range& g) {
  PrimExpr lo = VisitExpr(g->min), n = VisitExpr(g->extent);
  return lo.same_as(g->min) && n.same_as(g->extent) ? g : Range(lo, n);
}

BufferRegion StmtMutator::VisitRegion(const BufferRegion& r) {
  Buffer b = VisitBuffer(r->buffer);
  ffi::Array<Range> region = r->region;  // shares storage until the first change
  for (size_t i = 0; i < r->region.size(); ++i) {
    Range g = r->region[i], v = VisitRange(g);
    if (!v.same_as(g)) region.Set(static_cast<int64_t>(i), v);
  }
  if (b.same_as(r->buffer) && region.same_as(r->region)) return r;
  return BufferRegion(b, region, r->squeezed, r->span);
}

ffi::Array<Iter> StmtMutator::VisitIters(const ffi::Array<Iter>& iters) {
  ffi::Array<Iter> out = iters;
  for (size_t i = 0; i < iters.size(); ++i) {
    Iter it = iters[i];
    PrimExpr extent = VisitExpr(it->extent), stride = VisitExpr(it->stride);
    if (extent.same_as(it->extent) && stride.same_as(it->stride)) continue;
    out.Set(static_cast<int64_t>(i), Iter(extent, stride, it->axis));
  }
  return out;
}

Layout StmtMutator::VisitLayout(const Layout& layout) {
  if (auto* c = layout.as<ComposeLayoutNode>()) {
    Layout tile = VisitLayout(c->tile);
    if (tile.same_as(c->tile)) return layout;
    return ComposeLayout(c->per_element, c->swizzle_len, c->atom_len,
                         GetRef<TileLayout>(tile.as<TileLayoutNode>()));
  }
  auto* t = layout.as<TileLayoutNode>();
  if (t == nullptr) return layout;
  ffi::Array<Iter> shard = VisitIters(t->shard), replica = VisitIters(t->replica);
  auto offset = VisitAny(t->offset).cast<ffi::Map<ffi::String, PrimExpr>>();
  bool same = shard.same_as(t->shard) && replica.same_as(t->replica) && offset.same_as(t->offset);
  return same ? layout : TileLayout(shard, replica, offset);
}

ffi::Any StmtMutator::VisitAny(const ffi::Any& value) {
  if (value.as<PrimExprNode>()) return VisitExpr(value.cast<PrimExpr>());
  if (auto* r = value.as<BufferRegionNode>()) return VisitRegion(GetRef<BufferRegion>(r));
  if (auto* b = value.as<BufferNode>()) return VisitBuffer(GetRef<Buffer>(b));
  if (auto* g = value.as<RangeNode>()) return VisitRange(GetRef<Range>(g));
  if (auto* l = value.as<LayoutNode>()) return VisitLayout(GetRef<Layout>(l));
  if (value.as<ffi::ArrayObj>()) {
    auto a = value.cast<ffi::Array<ffi::Any>>(), out = a;
    for (size_t i = 0; i < a.size(); ++i) {
      ffi::Any v = a[i], w = VisitAny(v);
      if (!w.same_as(v)) out.Set(static_cast<int64_t>(i), std::move(w));
    }
    return out;
  }
  if (value.as<ffi::MapObj>()) {
    auto m = value.cast<ffi::Map<ffi::Any, ffi::Any>>(), out = m;
    for (const auto& [k, v] : m) {
      ffi::Any w = VisitAny(v);
      if (!w.same_as(v)) out.Set(k, std::move(w));
    }
    return out;
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
