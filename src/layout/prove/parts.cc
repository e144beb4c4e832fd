// Independent parts of a map: outputs that share no coordinate are proved separately. A product of
// maps falls into its factors, and so does a permutation or any expression that is one in effect.
#include <algorithm>
#include <numeric>

#include "facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

/*! Which coordinates each node reads, as bit sets. */
class Supports {
 public:
  explicit Supports(const IndexDag& dag) : words_(dag.domain.size() / 64 + 1) {
    sets_.resize(dag.nodes.size() * words_, 0);
    for (size_t i = 0; i < dag.nodes.size(); ++i) {
      const IndexNode& n = dag.nodes[i];
      if (n.op == IndexOp::kCoord) sets_[i * words_ + n.c / 64] |= uint64_t{1} << (n.c % 64);
      for (int32_t operand : OperandsOf(dag, static_cast<int32_t>(i))) {
        for (size_t w = 0; w < words_; ++w) sets_[i * words_ + w] |= sets_[operand * words_ + w];
      }
    }
  }
  bool Reads(int32_t node, size_t axis) const {
    return (sets_[node * words_ + axis / 64] >> (axis % 64)) & 1;
  }

 private:
  size_t words_;
  std::vector<uint64_t> sets_;
};

class UnionFind {
 public:
  explicit UnionFind(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  size_t Find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(size_t a, size_t b) { parent_[Find(a)] = Find(b); }

 private:
  std::vector<size_t> parent_;
};

/*! Copies what the outputs of one part need. */
class Extraction {
 public:
  Extraction(const IndexDag& from, Part* to) : from_(from), to_(to), node_(from.nodes.size(), -1) {
    axis_.assign(from.domain.size(), -1);
    for (int32_t axis : to->axes) {
      axis_[axis] = static_cast<int32_t>(to->dag.domain.size());
      to->dag.domain.push_back(from.domain[axis]);
      if (!from.coord_names.empty()) to->dag.coord_names.push_back(from.coord_names[axis]);
    }
    to->dag.tables = {};
  }

  void Run() {
    Mark();
    for (size_t i = 0; i < from_.nodes.size(); ++i) {
      if (needed_[i]) Copy(static_cast<int32_t>(i));
    }
    for (int32_t j : to_->outputs) {
      to_->dag.outputs.push_back(node_[from_.outputs[j]]);
      to_->dag.codomain.push_back(from_.codomain[j]);
    }
  }

 private:
  void Mark() {
    needed_.assign(from_.nodes.size(), false);
    for (int32_t j : to_->outputs) needed_[from_.outputs[j]] = true;
    for (size_t i = from_.nodes.size(); i-- > 0;) {
      if (!needed_[i]) continue;
      for (int32_t operand : OperandsOf(from_, static_cast<int32_t>(i))) needed_[operand] = true;
    }
  }

  void Copy(int32_t i) {
    IndexNode n = from_.nodes[i];
    switch (n.op) {
      case IndexOp::kConst: break;
      case IndexOp::kCoord: n.c = axis_[n.c]; break;
      case IndexOp::kTable:
        to_->dag.tables.push_back(from_.tables[n.b]);
        n.b = static_cast<int32_t>(to_->dag.tables.size()) - 1;
        n.a = node_[n.a];
        break;
      case IndexOp::kCall: n.a = CopyCall(from_.calls[n.a]); break;
      default:
        n.a = node_[n.a];
        if (n.b >= 0) n.b = node_[n.b];
        if (n.op == IndexOp::kSelect) n.c = node_[n.c];
    }
    node_[i] = static_cast<int32_t>(to_->dag.nodes.size());
    to_->dag.nodes.push_back(n);
  }

  int32_t CopyCall(IndexCall call) {
    for (int32_t& arg : call.args) arg = node_[arg];
    to_->dag.calls.push_back(std::move(call));
    return static_cast<int32_t>(to_->dag.calls.size()) - 1;
  }

  const IndexDag& from_;
  Part* to_;
  std::vector<int32_t> node_, axis_;
  std::vector<char> needed_;
};

std::vector<Part> Partition(const IndexDag& dag) {
  size_t axes = dag.domain.size(), outputs = dag.outputs.size();
  Supports supports(dag);
  UnionFind sets(axes + outputs);
  for (size_t j = 0; j < outputs; ++j) {
    for (size_t x = 0; x < axes; ++x) {
      if (supports.Reads(dag.outputs[j], x)) sets.Join(x, axes + j);
    }
  }
  std::vector<Part> parts;
  std::vector<int32_t> part_of(axes + outputs, -1);
  for (size_t i = 0; i < axes + outputs; ++i) {
    int32_t& part = part_of[sets.Find(i)];
    if (part < 0) part = static_cast<int32_t>(parts.size()), parts.push_back({});
    if (i < axes) parts[part].axes.push_back(static_cast<int32_t>(i));
    if (i >= axes) parts[part].outputs.push_back(static_cast<int32_t>(i - axes));
  }
  return parts;
}

Point Scatter(const Point& values, const std::vector<int32_t>& at, size_t rank) {
  Point out(rank, 0);
  for (size_t i = 0; i < values.size(); ++i) out[at[i]] = values[i];
  return out;
}

using Member = Fact LayoutProof::*;

/*! Every part has the fact: so has the whole. */
void JoinProven(const std::vector<LayoutProof>& proofs, Member member, Evidence* e) {
  std::string arguments;
  for (const LayoutProof& p : proofs) {
    const Fact& f = p.*member;
    if (f.status != Status::kProven) return;
    if (arguments.find(f.argument) != std::string::npos) continue;
    arguments += (arguments.empty() ? "" : "; ") + f.argument;
  }
  e->Prove(&(e->proof().*member), arguments);
}

/*! A counterexample of one part, with the other coordinates 0, is one of the whole if it evaluates
 *  to one. A part that misses a value makes the whole miss it whatever the others do. */
void JoinDisproven(const Part& part, const LayoutProof& p, Evidence* e) {
  size_t rank = e->dag().domain.size();
  auto lift = [&](const Point& x) { return Scatter(x, part.axes, rank); };
  for (const Point& x : p.total.witness) e->TryPoint(lift(x), p.total.argument);
  for (const Point& x : p.bounds.witness) e->TryPoint(lift(x), p.bounds.argument);
  const auto& pair = p.injective.witness;
  if (pair.size() == 2) e->TryCollision(lift(pair[0]), lift(pair[1]), p.injective.argument);
  for (const Point& y : p.surjective.witness) {
    e->Missed(Scatter(y, part.outputs, e->codomain().size()), p.surjective.argument);
  }
}

void JoinCounted(const LayoutProof& p, bool total, Evidence* e) {
  auto bare = [](const Fact& f) { return f.status == Status::kDisproven && f.witness.empty(); };
  if (bare(p.surjective)) e->Disprove(&e->proof().surjective, p.surjective.argument);
  if (bare(p.injective) && total) e->Disprove(&e->proof().injective, p.injective.argument);
}

}  // namespace

std::vector<Part> SplitParts(const IndexDag& dag) {
  std::vector<Part> parts = Partition(dag);
  if (parts.size() < 2) return {};
  for (Part& part : parts) Extraction(dag, &part).Run();
  return parts;
}

LayoutProof JoinParts(const IndexDag& dag, const std::vector<Part>& parts,
                      const std::vector<LayoutProof>& proofs) {
  Evidence e(dag);
  JoinProven(proofs, &LayoutProof::total, &e);
  JoinProven(proofs, &LayoutProof::bounds, &e);
  JoinProven(proofs, &LayoutProof::injective, &e);
  JoinProven(proofs, &LayoutProof::surjective, &e);
  for (size_t i = 0; i < parts.size(); ++i) JoinDisproven(parts[i], proofs[i], &e);
  bool total = e.proof().total.status == Status::kProven;
  for (const LayoutProof& p : proofs) JoinCounted(p, total, &e);
  return e.proof();
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
