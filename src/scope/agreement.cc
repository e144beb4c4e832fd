#include "agreement.h"

#include <tirx/expr/ops.h>
#include <tirx/ir/instr.h>

namespace tirx {
namespace scope {
namespace {

struct DefinitionCollector : StmtVisitor {
  std::vector<Stmt>* out;
  void VisitExpr(const PrimExpr&) override {}
  void VisitBind(const BindNode* n) override { out->push_back(GetRef<Stmt>(n)); }
  void VisitFor(const ForNode* n) override {
    out->push_back(GetRef<Stmt>(n));
    StmtVisitor::VisitFor(n);
  }
};

/*! The widest team within which the values (one per thread) are equal. */
Kind EqualWithin(const std::vector<int64_t>& v) {
  auto blocks_equal = [&](size_t size) {
    for (size_t i = 0; i < v.size(); ++i) {
      if (v[i] != v[i / size * size]) return false;
    }
    return true;
  };
  if (blocks_equal(v.size())) return Kind::kGrid;
  if (blocks_equal(kWarpgroupSize)) return Kind::kWarpgroup;
  return blocks_equal(kWarpSize) ? Kind::kWarp : Kind::kThread;
}

}  // namespace

AgreementAnalysis::AgreementAnalysis(const Stmt& body, StaticEval* eval, const IdTable& ids)
    : body_(body), eval_(eval), ids_(ids) {
  DefinitionCollector collector;
  collector.out = &definitions_;
  collector(body);
  for (const Stmt& s : definitions_) {
    if (auto* let = s.as<BindNode>()) eval_->AddLet(let);
  }
}

Kind AgreementAnalysis::Of(const PrimExpr& e) {
  uint8_t dep = eval_->DepOf(e);
  if (dep == 0) return Kind::kGrid;
  if (dep == kDepThread || dep == kDepCta) return OfStatic(e);
  return OfChildren(e);
}

Kind AgreementAnalysis::OfStatic(const PrimExpr& e) {
  bool thread = eval_->DepOf(e) == kDepThread;
  const std::vector<int64_t>* v = eval_->Eval(e, thread ? kDepThread : kDepCta);
  if (v == nullptr) return thread ? Kind::kThread : Kind::kCta;
  if (thread) return EqualWithin(*v);
  return *v == std::vector<int64_t>(v->size(), v->front()) ? Kind::kGrid : Kind::kCta;
}

Kind AgreementAnalysis::OfCtaIndex() const {
  return ids_.launch().Ctas() == 1 ? Kind::kCluster : Kind::kCta;
}

Kind AgreementAnalysis::OfVar(const VarNode* v) {
  if (v == ids_.thread_index().get()) return Kind::kThread;
  if (const PrimExpr* meaning = ids_.Find(v)) return Of(*meaning);
  if (!vars_ready_) ComputeVars();
  auto it = vars_.find(v);
  return it == vars_.end() ? Kind::kGrid : it->second;
}

Kind AgreementAnalysis::OfLoad(const BufferLoadNode* n) {
  Kind k = Kind::kGrid;
  for (const PrimExpr& i : n->indices) k = std::min(k, Of(i));
  if (n->buffer->scope == "tmem") return Kind::kThread;
  if (n->buffer->scope != "local") return k;
  if (!locals_ready_) ComputeLocals();
  auto it = locals_.find(n->buffer->data.get());
  return it == locals_.end() ? k : std::min(k, it->second);
}

Kind AgreementAnalysis::OfCall(const CallNode* n) {
  if (n->op == "tx.cta_index") return OfCtaIndex();
  if (!IsPureIntrinsic(n->op)) return Kind::kThread;
  Kind k = Kind::kGrid;
  for (const PrimExpr& a : n->args) k = std::min(k, Of(a));
  return k;
}

namespace {

/*! cta_index(d) // cluster[d]: the cluster's index, the same for all of its CTAs. */
bool IsClusterIndex(const BinaryNode* n, const Launch& launch) {
  auto* call = n->a.as<CallNode>();
  if (n->kind() != BinOp::kFloorDiv || call == nullptr || call->op != "tx.cta_index") return false;
  int64_t dim = AsInt(call->args[0]).value_or(-1);
  return dim >= 0 && dim < 3 && IsConst(n->b, launch.cluster[dim]);
}

}  // namespace

Kind AgreementAnalysis::OfChildren(const PrimExpr& e) {
  switch (KindOf(e)) {
    case ExprKind::kVar: return OfVar(static_cast<const VarNode*>(e.get()));
    case ExprKind::kBinary: {
      auto* n = static_cast<const BinaryNode*>(e.get());
      if (IsClusterIndex(n, ids_.launch())) return Kind::kCluster;
      return std::min(Of(n->a), Of(n->b));
    }
    case ExprKind::kNot: return Of(static_cast<const NotNode*>(e.get())->a);
    case ExprKind::kSelect: {
      auto* n = static_cast<const SelectNode*>(e.get());
      return std::min({Of(n->cond), Of(n->true_value), Of(n->false_value)});
    }
    case ExprKind::kCast: return Of(static_cast<const CastNode*>(e.get())->value);
    case ExprKind::kCall: return OfCall(static_cast<const CallNode*>(e.get()));
    case ExprKind::kFloatImm:
    case ExprKind::kStringImm:
    case ExprKind::kIntImm: return Kind::kGrid;
    default:
      if (auto* load = e.as<BufferLoadNode>()) return OfLoad(load);
      return Kind::kThread;  // vectors and expressions made in Python
  }
}

void AgreementAnalysis::ComputeVars() {
  vars_ready_ = true;
  vars_.clear();
  for (const Stmt& s : definitions_) {
    if (auto* let = s.as<BindNode>()) {
      vars_[let->var.get()] = Of(let->value);
    } else {
      auto* loop = static_cast<const ForNode*>(s.get());
      vars_[loop->loop_var.get()] = std::min(Of(loop->min), Of(loop->extent));
    }
  }
}

// ---- local buffers ----

/*! Walks the stores with the agreement of the conditions around them. */
class StoreWalk : public StmtVisitor {
 public:
  explicit StoreWalk(AgreementAnalysis* owner) : owner_(owner) {}

 protected:
  void Within(Kind k, const Stmt& body) {
    Kind saved = here_;
    here_ = std::min(here_, k);
    VisitStmt(body);
    here_ = saved;
  }
  void VisitIfThenElse(const IfThenElseNode* n) override {
    VisitExpr(n->cond);
    Kind k = owner_->Of(n->cond);
    Within(k, n->then_case);
    if (n->else_case.has_value()) Within(k, n->else_case.value());
  }
  void VisitFilter(const FilterNode* n) override { Within(owner_->Of(n->cond), n->body); }
  void VisitFor(const ForNode* n) override {
    Within(std::min(owner_->Of(n->extent), owner_->ExitOf(GetRef<Stmt>(n)).kind), n->body);
  }
  void VisitWhile(const WhileNode* n) override {
    VisitExpr(n->cond);
    Within(std::min(owner_->Of(n->cond), owner_->ExitOf(GetRef<Stmt>(n)).kind), n->body);
  }
  void VisitBufferStore(const BufferStoreNode* n) override {
    StmtVisitor::VisitBufferStore(n);
    if (n->buffer->scope != "local") return;
    Kind k = std::min(here_, owner_->Of(n->value));
    for (const PrimExpr& i : n->indices) k = std::min(k, owner_->Of(i));
    owner_->LowerLocal(n->buffer->data.get(), k);
  }
  void VisitTilePrimitiveCall(const TilePrimitiveCallNode* n) override {
    for (const ffi::Any& a : n->args) {
      if (auto* r = a.as<BufferRegionNode>()) Written(r->buffer);
    }
  }
  void VisitCall(const CallNode* n) override {
    StmtVisitor::VisitCall(n);
    if (IsPureIntrinsic(n->op) && n->op != "tx.address_of") return;
    const InstrNode* instr = n->op == "tx.address_of" ? nullptr : FindInstr(n->op);
    for (size_t i = 0; i < n->args.size(); ++i) {
      bool reads = instr != nullptr && i < instr->operands.size() && !instr->operands[i]->Writes();
      auto* load = n->args[i].as<BufferLoadNode>();
      if (load != nullptr && !reads) Written(load->buffer);
    }
  }

 private:
  void Written(const Buffer& b) {
    if (b->scope == "local") owner_->LowerLocal(b->data.get(), Kind::kThread);
  }
  AgreementAnalysis* owner_;
  Kind here_{Kind::kGrid};
};

void AgreementAnalysis::LowerLocal(const VarNode* data, Kind k) {
  auto [it, fresh] = locals_.emplace(data, Kind::kGrid);
  if (k >= it->second) return;
  it->second = k;
  changed_ = true;
}

void AgreementAnalysis::ComputeLocals() {
  // Optimistic start, lowered until nothing changes: the greatest fixed point.
  locals_ready_ = true;
  do {
    changed_ = false;
    exits_.clear();
    ComputeVars();
    StoreWalk walk(this);
    walk(body_);
  } while (changed_);
  exits_.clear();
  ComputeVars();
}

// ---- loop exits ----

namespace {

class ExitWalk : public StmtVisitor {
 public:
  ExitWalk(AgreementAnalysis* owner, AgreementAnalysis::Exit* out) : owner_(owner), out_(out) {}
  void VisitExpr(const PrimExpr&) override {}

 protected:
  void VisitIfThenElse(const IfThenElseNode* n) override {
    const PrimExpr* saved = cond_;
    if (cond_ == nullptr || owner_->Of(n->cond) < owner_->Of(*cond_)) cond_ = &n->cond;
    Span saved_where = where_;
    if (cond_ == &n->cond) where_ = n->cond->span.defined() ? n->cond->span : n->span;
    StmtVisitor::VisitIfThenElse(n);
    cond_ = saved;
    where_ = saved_where;
  }
  void VisitFor(const ForNode*) override {}  // its exits are its own
  void VisitWhile(const WhileNode*) override {}
  void VisitBreak(const BreakNode*) override { Leave(); }
  void VisitContinue(const ContinueNode*) override { Leave(); }

 private:
  void Leave() {
    if (cond_ == nullptr) return;
    Kind k = owner_->Of(*cond_);
    if (k < out_->kind) *out_ = {k, where_};
  }
  AgreementAnalysis* owner_;
  AgreementAnalysis::Exit* out_;
  const PrimExpr* cond_{nullptr};
  Span where_;
};

}  // namespace

AgreementAnalysis::Exit AgreementAnalysis::ExitOf(const Stmt& loop) {
  auto it = exits_.find(loop.get());
  if (it != exits_.end()) return it->second;
  Exit out;
  ExitWalk walk(this, &out);
  auto* n = loop.as<ForNode>();
  walk(n != nullptr ? n->body : static_cast<const WhileNode*>(loop.get())->body);
  exits_.emplace(loop.get(), out);
  return out;
}

}  // namespace scope
}  // namespace tirx
