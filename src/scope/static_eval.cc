#include "static_eval.h"

#include <tirx/expr/functor.h>
#include <tirx/expr/ops.h>

#include <numeric>

namespace tirx {
namespace scope {
namespace {

/*! Lets nested deeper than this are not looked through, which bounds the recursion. */
constexpr int32_t kMaxHeight = 1500;

bool IsClusterRank(const CallNode* n) {
  return n->op == "tx.cluster_cta_rank" || n->op == "tx.cluster_cta_index";
}

bool IsFilterRange(const CallNode* n) { return n->op == "tx.filter_range"; }

}  // namespace

void StaticEval::AddLet(const BindNode* let) {
  lets_.emplace(let->var.get(), Let{let->value, Measure(let->value)});
}

const PrimExpr* StaticEval::LetOf(const VarNode* v) const {
  auto it = lets_.find(v);
  bool known = it != lets_.end() && it->second.facts.height <= kMaxHeight;
  return known ? &it->second.value : nullptr;
}

StaticEval::Facts StaticEval::MeasureVar(const VarNode* v) const {
  if (v == ids_.thread_index().get()) return {kDepThread, 1};
  if (const PrimExpr* meaning = ids_.Find(v)) return Measure(*meaning);
  auto it = lets_.find(v);
  if (it == lets_.end() || it->second.facts.height > kMaxHeight) return {kDepOther, 1};
  return {it->second.facts.dep, it->second.facts.height + 1};
}

StaticEval::Facts StaticEval::MeasureCall(const CallNode* n) const {
  if (n->op == "tx.thread_index") return {kDepThread, 1};
  if (IsClusterRank(n)) return {kDepCta, 1};
  Facts out{IsFilterRange(n) ? uint8_t{0} : uint8_t{kDepOther}, 1};
  for (const PrimExpr& a : n->args) {
    Facts f = Measure(a);
    out.dep |= f.dep;
    out.height = std::max(out.height, f.height + 1);
  }
  return out;
}

StaticEval::Facts StaticEval::Measure(const PrimExpr& e) const {
  auto join = [&](std::initializer_list<const PrimExpr*> children) {
    Facts out;
    for (const PrimExpr* c : children) {
      Facts f = Measure(*c);
      out.dep |= f.dep;
      out.height = std::max(out.height, f.height + 1);
    }
    return out;
  };
  switch (KindOf(e)) {
    case ExprKind::kIntImm: return {};
    case ExprKind::kVar: return MeasureVar(static_cast<const VarNode*>(e.get()));
    case ExprKind::kBinary: {
      auto* n = static_cast<const BinaryNode*>(e.get());
      return join({&n->a, &n->b});
    }
    case ExprKind::kNot: return join({&static_cast<const NotNode*>(e.get())->a});
    case ExprKind::kSelect: {
      auto* n = static_cast<const SelectNode*>(e.get());
      return join({&n->cond, &n->true_value, &n->false_value});
    }
    case ExprKind::kCast: return join({&static_cast<const CastNode*>(e.get())->value});
    case ExprKind::kCall: return MeasureCall(static_cast<const CallNode*>(e.get()));
    default: return {kDepOther, 1};
  }
}

size_t StaticEval::Count(Dep domain) const {
  const Launch& l = ids_.launch();
  return static_cast<size_t>(domain == kDepThread ? l.threads : l.Ctas());
}

const std::vector<int64_t>* StaticEval::Eval(const PrimExpr& e, Dep domain) {
  if ((DepOf(e) | domain) != domain) return nullptr;
  return Compute(e, domain, &result_) ? &result_ : nullptr;
}

bool StaticEval::Compute(const PrimExpr& e, Dep domain, Values* out) {
  switch (KindOf(e)) {
    case ExprKind::kIntImm:
      out->assign(Count(domain), static_cast<const IntImmNode*>(e.get())->value);
      return true;
    case ExprKind::kVar: return ComputeVar(static_cast<const VarNode*>(e.get()), domain, out);
    case ExprKind::kBinary:
      return ComputeBinary(static_cast<const BinaryNode*>(e.get()), domain, out);
    case ExprKind::kNot:
      if (!Compute(static_cast<const NotNode*>(e.get())->a, domain, out)) return false;
      for (int64_t& v : *out) v = v == 0;
      return true;
    case ExprKind::kSelect:
      return ComputeSelect(static_cast<const SelectNode*>(e.get()), domain, out);
    case ExprKind::kCast: {
      const PrimExpr& value = static_cast<const CastNode*>(e.get())->value;
      bool ints = (IsInteger(e->dtype) || IsBool(e->dtype)) && e->dtype.lanes == 1;
      if (!ints || !Compute(value, domain, out)) return false;
      for (int64_t& v : *out) v = WrapInt(value->dtype, e->dtype, v);
      return true;
    }
    case ExprKind::kCall: return ComputeCall(static_cast<const CallNode*>(e.get()), domain, out);
    default: return false;
  }
}

bool StaticEval::ComputeVar(const VarNode* v, Dep domain, Values* out) {
  auto& cache = by_var_[domain == kDepCta];
  auto it = cache.find(v);
  if (it != cache.end()) {
    *out = it->second;
    return true;
  }
  if (v == ids_.thread_index().get()) {
    out->resize(Count(domain));
    std::iota(out->begin(), out->end(), 0);
  } else {
    const PrimExpr* value = ids_.Find(v);
    if (value == nullptr) value = LetOf(v);
    if (value == nullptr || !Compute(*value, domain, out)) return false;
  }
  cache.emplace(v, *out);
  return true;
}

bool StaticEval::ComputeBinary(const BinaryNode* n, Dep domain, Values* out) {
  Values b;
  if (!Compute(n->a, domain, out) || !Compute(n->b, domain, &b)) return false;
  for (size_t i = 0; i < b.size(); ++i) {
    auto v = FoldInt(n->kind(), n->a->dtype, (*out)[i], b[i]);
    if (!v) return false;
    (*out)[i] = *v;
  }
  return true;
}

bool StaticEval::ComputeSelect(const SelectNode* n, Dep domain, Values* out) {
  Values t, f;
  if (!Compute(n->cond, domain, out) || !Compute(n->true_value, domain, &t) ||
      !Compute(n->false_value, domain, &f)) {
    return false;
  }
  for (size_t i = 0; i < t.size(); ++i) (*out)[i] = (*out)[i] != 0 ? t[i] : f[i];
  return true;
}

bool StaticEval::ComputeCall(const CallNode* n, Dep domain, Values* out) {
  out->resize(Count(domain));
  std::iota(out->begin(), out->end(), 0);
  if (n->op == "tx.thread_index" || n->op == "tx.cluster_cta_rank") return true;
  if (n->op == "tx.cluster_cta_index") {
    const auto& c = ids_.launch().cluster;
    int64_t dim = AsInt(n->args[0]).value_or(0), below = dim == 0   ? 1
                                                         : dim == 1 ? c[0]
                                                                    : c[0] * c[1];
    for (int64_t& v : *out) v = v / below % c[dim];
    return true;
  }
  Values lo, hi;
  if (!IsFilterRange(n) || !Compute(n->args[0], domain, out) || !Compute(n->args[1], domain, &lo) ||
      !Compute(n->args[2], domain, &hi)) {
    return false;
  }
  for (size_t i = 0; i < lo.size(); ++i) (*out)[i] = lo[i] <= (*out)[i] && (*out)[i] < hi[i];
  return true;
}

}  // namespace scope
}  // namespace tirx
