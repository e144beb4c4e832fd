// Piecewise maps: comparisons of a coordinate with a constant cut the domain into boxes on which
// they are decided, and each box is proved by itself. Together they are injective when no two of
// them share a value, which ranges or residues of an output can show.
#include <algorithm>
#include <numeric>

#include "facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

constexpr size_t kMaxCases = 64;

using Thresholds = std::vector<std::vector<int64_t>>;  // per axis, inside (0, extent)

/*! k*x + c for one whole coordinate x, when that is what the form is. */
struct Line {
  int32_t axis;
  Wide k, c;
};

std::optional<Line> LineOf(const AffineForm& f, const DigitBox& box) {
  if (f.terms.empty()) return std::nullopt;
  int32_t axis = box[f.terms[0].digit].axis;
  size_t digits = box.first(axis + 1) - box.first(axis);
  if (f.terms.size() != digits) return std::nullopt;
  for (const AffineTerm& t : f.terms) {
    Wide expected = static_cast<Wide>(f.terms[0].coef) * box[t.digit].weight;
    if (box[t.digit].axis != axis || t.coef != expected) return std::nullopt;
  }
  return Line{axis, f.terms[0].coef, f.base};
}

void AddThreshold(Wide at, int32_t axis, const DigitBox& box, Thresholds* out) {
  if (at > 0 && at < box.domain()[axis]) (*out)[axis].push_back(static_cast<int64_t>(at));
}

/*! Where a < b or a == b changes its answer. */
void ThresholdsOf(const IndexNode& n, const Analysis& a, Thresholds* out) {
  const auto &left = a.nodes[n.a].affine, &right = a.nodes[n.b].affine;
  if (!left || !right) return;
  auto difference = AffineSum(*left, *right, -1);
  if (!difference) return;
  auto line = LineOf(*difference, a.box);
  if (!line) return;
  bool up = line->k > 0;
  Wide k = up ? line->k : -line->k;
  Wide zero = up ? FloorDivWide(-line->c, k) : FloorDivWide(line->c, k);  // last x up to the zero
  bool exact = line->c % k == 0;
  if (n.op == IndexOp::kEqual && !exact) return;
  if (n.op == IndexOp::kEqual || (up && exact)) AddThreshold(zero, line->axis, a.box, out);
  if (n.op == IndexOp::kEqual || !(up && exact)) AddThreshold(zero + 1, line->axis, a.box, out);
}

/*! The domain cut at all thresholds: (begin, extents) of each box; empty when it is not cut. */
struct Case {
  Point begin;
  Extents extents;
};

std::vector<Case> CasesOf(const IndexDag& dag, const Analysis& a) {
  Thresholds cuts(dag.domain.size());
  for (const IndexNode& n : dag.nodes) {
    if (n.op == IndexOp::kLess || n.op == IndexOp::kEqual) ThresholdsOf(n, a, &cuts);
  }
  std::vector<Case> out{{}};
  for (size_t axis = 0; axis < cuts.size(); ++axis) {
    auto& ends = cuts[axis];
    ends.push_back(dag.domain[axis]);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    if (out.size() * ends.size() > kMaxCases) return {};
    std::vector<Case> next;
    for (const Case& c : out) {
      int64_t begin = 0;
      for (int64_t end : ends) {
        next.push_back(c);
        next.back().begin.push_back(begin);
        next.back().extents.push_back(end - begin);
        begin = end;
      }
    }
    out = std::move(next);
  }
  return out.size() > 1 ? out : std::vector<Case>{};
}

/*! The DAG on one box: coordinate x becomes begin + x. */
IndexDag Restrict(const IndexDag& dag, const Case& c) {
  IndexDag out = dag;
  out.domain = c.extents;
  out.nodes.clear();
  out.outputs.clear();
  std::vector<int32_t> at(dag.nodes.size());
  auto push = [&](IndexNode n) {
    out.nodes.push_back(n);
    return static_cast<int32_t>(out.nodes.size()) - 1;
  };
  for (IndexCall& call : out.calls) call.args.clear();
  for (size_t i = 0; i < dag.nodes.size(); ++i) {
    IndexNode n = dag.nodes[i];
    if (n.op == IndexOp::kCoord && c.begin[n.c] != 0) {
      int32_t start = push({IndexOp::kConst, -1, -1, c.begin[n.c]});
      at[i] = push({IndexOp::kAdd, push(n), start, 0});
      continue;
    }
    bool operand_a = n.a >= 0 && n.op != IndexOp::kCall;
    bool operand_b = n.b >= 0 && n.op != IndexOp::kCall && n.op != IndexOp::kTable;
    if (operand_a) n.a = at[n.a];
    if (operand_b) n.b = at[n.b];
    if (n.op == IndexOp::kSelect) n.c = at[n.c];
    at[i] = push(n);
  }
  for (size_t k = 0; k < dag.calls.size(); ++k) {
    for (int32_t arg : dag.calls[k].args) out.calls[k].args.push_back(at[arg]);
  }
  for (int32_t o : dag.outputs) out.outputs.push_back(at[o]);
  return out;
}

/*! base modulo g: what all values of an affine form have in common. */
struct Residue {
  int64_t base;
  uint64_t g;
};

std::optional<Residue> ResidueOf(const NodeFacts& f) {
  if (!f.affine) return std::nullopt;
  uint64_t g = 0;
  for (const AffineTerm& t : f.affine->terms) {
    g = std::gcd(g, t.coef < 0 ? -static_cast<uint64_t>(t.coef) : static_cast<uint64_t>(t.coef));
  }
  return Residue{f.affine->base, g};
}

bool Apart(const NodeFacts& a, const NodeFacts& b) {
  if (!a.safe || !b.safe) return false;
  if (a.range.hi < b.range.lo || b.range.hi < a.range.lo) return true;
  auto x = ResidueOf(a), y = ResidueOf(b);
  if (!x || !y) return false;
  Wide difference = static_cast<Wide>(x->base) - y->base;
  Wide g = static_cast<Wide>(std::gcd(x->g, y->g));
  return g == 0 ? difference != 0 : difference % g != 0;
}

/*! No two boxes share a value: for each pair some output tells them apart. */
bool AllApart(const std::vector<IndexDag>& dags, const std::vector<Result>& results) {
  auto apart = [&](size_t i, size_t k) {
    for (size_t j = 0; j < dags[i].outputs.size(); ++j) {
      const NodeFacts& a = results[i].analysis.nodes[dags[i].outputs[j]];
      if (Apart(a, results[k].analysis.nodes[dags[k].outputs[j]])) return true;
    }
    return false;
  };
  for (size_t i = 0; i < dags.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (!apart(i, k)) return false;
    }
  }
  return true;
}

/*! A value just above what one box reaches in an output, and reached by no other box. */
void MissedBetween(const std::vector<IndexDag>& dags, const std::vector<Result>& results,
                   Evidence* e) {
  auto facts = [&](size_t i, size_t j) -> const NodeFacts& {
    return results[i].analysis.nodes[dags[i].outputs[j]];
  };
  for (size_t j = 0; j < e->codomain().size(); ++j) {
    for (size_t i = 0; i < dags.size(); ++i) {
      Wide v = facts(i, j).range.hi + 1;
      bool open = v >= 0 && v < e->codomain()[j];
      for (size_t k = 0; open && k < dags.size(); ++k) {
        const NodeFacts& f = facts(k, j);
        open = f.safe && (v < f.range.lo || v > f.range.hi);
      }
      if (!open) continue;
      Point y(e->codomain().size(), 0);
      y[j] = static_cast<int64_t>(v);
      return e->Missed(y, "between the ranges of the boxes of the domain");
    }
  }
}

void LiftWitnesses(const Case& c, const LayoutProof& p, Evidence* e) {
  auto lift = [&](Point x) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += c.begin[i];
    return x;
  };
  for (const Point& x : p.total.witness) e->TryPoint(lift(x), p.total.argument);
  for (const Point& x : p.bounds.witness) e->TryPoint(lift(x), p.bounds.argument);
  const auto& pair = p.injective.witness;
  if (pair.size() == 2) e->TryCollision(lift(pair[0]), lift(pair[1]), p.injective.argument);
}

}  // namespace

void ProveByCases(const Analysis& analysis, Evidence* e) {
  std::vector<Case> cases = CasesOf(e->dag(), analysis);
  if (cases.empty()) return;
  std::vector<IndexDag> dags;
  std::vector<Result> results;
  for (const Case& c : cases) {
    dags.push_back(Restrict(e->dag(), c));
    results.push_back(ProveOnePart(dags.back()));
    LiftWitnesses(c, results.back().proof, e);
  }
  auto all = [&](Fact LayoutProof::* member) {
    return std::all_of(results.begin(), results.end(), [&](const Result& r) {
      return (r.proof.*member).status == Status::kProven;
    });
  };
  const std::string by_case = "each of " + std::to_string(cases.size()) + " boxes of the domain";
  if (all(&LayoutProof::total)) e->Prove(&e->proof().total, by_case);
  if (all(&LayoutProof::bounds)) e->Prove(&e->proof().bounds, by_case);
  if (all(&LayoutProof::injective) && AllApart(dags, results)) {
    e->Prove(&e->proof().injective, by_case + ", whose values do not meet");
  }
  MissedBetween(dags, results, e);
  CountPlaces(e);
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
