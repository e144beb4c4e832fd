#include "detail.h"

namespace tirx {
namespace {

/*! Nodes that the outputs reach, operands first. */
std::vector<int32_t> Reached(const IndexDag& dag) {
  std::vector<char> seen(dag.nodes.size(), 0);
  for (int32_t o : dag.outputs) seen[o] = 1;
  for (size_t i = dag.nodes.size(); i-- > 0;) {
    if (!seen[i]) continue;
    for (int32_t operand : OperandsOf(dag, static_cast<int32_t>(i))) seen[operand] = 1;
  }
  std::vector<int32_t> out;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i]) out.push_back(static_cast<int32_t>(i));
  }
  return out;
}

}  // namespace

PointEvaluator::PointEvaluator(const IndexDag& dag)
    : dag_(dag), strict_(true), order_(Reached(dag)), values_(dag.nodes.size()) {
  for (int32_t i : order_) strict_ = strict_ && dag.nodes[i].op != IndexOp::kSelect;
  if (!strict_) done_.resize(dag.nodes.size(), 0);
}

bool PointEvaluator::Fail(int32_t node, const char* why) {
  fault_ = {node, why};
  return false;
}

bool PointEvaluator::Call(const IndexNode& node, int64_t* out) {
  const IndexCall& call = dag_.calls[node.a];
  std::vector<int64_t> args;
  for (int32_t a : call.args) args.push_back(values_[a]);
  *out = layout::CallTransform(*call.map.as<TransformMapNode>(), args)[node.c];
  return true;
}

bool PointEvaluator::Compute(int32_t node) {
  const IndexNode& n = dag_.nodes[node];
  int64_t* out = &values_[node];
  switch (n.op) {
    case IndexOp::kConst: *out = n.c; return true;
    case IndexOp::kCoord: *out = point_[n.c]; return true;
    case IndexOp::kInside:
      *out = values_[n.a];
      return (*out >= 0 && *out < n.c) || Fail(node, "outside the domain of the next map");
    case IndexOp::kAfter: *out = values_[n.a]; return true;
    case IndexOp::kSelect: *out = values_[n.a] ? values_[n.b] : values_[n.c]; return true;
    case IndexOp::kTable:
      *out = dag_.tables[n.b].values[values_[n.a] * dag_.tables[n.b].columns + n.c];
      return true;
    case IndexOp::kCall: return Call(n, out);
    default: {
      const char* why = nullptr;
      return ApplyIndexOp(n.op, values_[n.a], values_[n.b], out, &why) || Fail(node, why);
    }
  }
}

bool PointEvaluator::ComputeLazily(int32_t root) {
  std::vector<int32_t> stack{root};
  auto wait = [&](int32_t operand) {
    if (done_[operand] == round_) return false;
    stack.push_back(operand);
    return true;
  };
  while (!stack.empty()) {
    int32_t node = stack.back();
    const IndexNode& n = dag_.nodes[node];
    bool waits = false;
    if (n.op == IndexOp::kSelect) {
      waits = wait(n.a) || wait(values_[n.a] ? n.b : static_cast<int32_t>(n.c));
    } else {
      for (int32_t operand : OperandsOf(dag_, node)) waits = wait(operand) || waits;
    }
    if (waits) continue;
    stack.pop_back();
    if (done_[node] == round_) continue;
    if (!Compute(node)) return false;
    done_[node] = round_;
  }
  return true;
}

bool PointEvaluator::operator()(const int64_t* point, int64_t* out) {
  point_ = point;
  ++round_;
  if (strict_) {
    for (int32_t node : order_) {
      if (!Compute(node)) return false;
    }
  } else {
    for (int32_t node : dag_.outputs) {
      if (!ComputeLazily(node)) return false;
    }
  }
  for (size_t j = 0; j < dag_.outputs.size(); ++j) out[j] = values_[dag_.outputs[j]];
  return true;
}

namespace layout {

std::string PointText(const std::vector<int64_t>& point) {
  std::string out = "(";
  for (size_t i = 0; i < point.size(); ++i) out += (i ? ", " : "") + std::to_string(point[i]);
  return out + ")";
}

void CheckInside(const std::vector<int64_t>& domain, const std::vector<int64_t>& coords) {
  bool inside = coords.size() == domain.size();
  for (size_t i = 0; inside && i < coords.size(); ++i) {
    inside = coords[i] >= 0 && coords[i] < domain[i];
  }
  if (inside) return;
  Refuse("outside-domain", "the map is not defined at this point", PointText(coords),
         "a point of the box with extents " + PointText(domain));
}

namespace {

[[noreturn]] void NoValue(const IndexDag& dag, const IndexFault& fault,
                          const std::vector<int64_t>& point) {
  Refuse("no-value", "the map has no value at this point: " + fault.reason,
         NodeText(dag, fault.node) + " at " + PointText(point),
         "every subexpression has a value in 64 bits, inside the domain it enters");
}

}  // namespace

std::vector<int64_t> Evaluate(const LayoutMap& map, const std::vector<int64_t>& coords) {
  const IndexDag& dag = ToIndexDag(map);
  CheckInside(dag.domain, coords);
  PointEvaluator run(dag);
  std::vector<int64_t> out(dag.outputs.size());
  if (!run(coords.data(), out.data())) NoValue(dag, run.fault(), coords);
  return out;
}

std::vector<int64_t> Enumerate(const LayoutMap& map, int64_t budget) {
  int64_t n = DomainSizeWithin(map, budget, "listing all values");
  const IndexDag& dag = ToIndexDag(map);
  PointEvaluator run(dag);
  size_t rank = dag.outputs.size(), row = 0;
  std::vector<int64_t> out(n * rank);
  ForEachPoint(dag.domain, [&](const std::vector<int64_t>& point) {
    if (!run(point.data(), &out[rank * row++])) NoValue(dag, run.fault(), point);
    return true;
  });
  return out;
}

}  // namespace layout
}  // namespace tirx
