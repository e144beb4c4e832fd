#include <tirx/layout/index_dag.h>

#include <algorithm>
#include <limits>

namespace tirx {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int kTextDepth = 6;

bool ShiftOp(IndexOp op, int64_t a, int64_t b, int64_t* out, const char** why) {
  *why = "shift amount outside 0..63";
  if (b < 0 || b > 63) return false;
  uint64_t bits = static_cast<uint64_t>(a);
  *out = static_cast<int64_t>(op == IndexOp::kShl ? bits << b : bits >> b);
  return true;
}

bool DivideOp(IndexOp op, int64_t a, int64_t b, int64_t* out, const char** why) {
  *why = b == 0 ? "division by zero" : "overflow";
  if (b == 0 || (op == IndexOp::kFloorDiv && a == kMin && b == -1)) return false;
  if (b == -1) {
    *out = op == IndexOp::kFloorDiv ? -a : 0;
    return true;
  }
  int64_t q = a / b, r = a % b;
  bool down = r != 0 && (r < 0) != (b < 0);
  *out = op == IndexOp::kFloorDiv ? q - down : r + (down ? b : 0);
  return true;
}

/*! The smallest 2^k - 1 that is at least x. */
int64_t MaskOver(int64_t x) {
  int64_t mask = 0;
  while (mask < x) mask = mask * 2 + 1;
  return mask;
}

const char* Symbol(IndexOp op) {
  static const char* const kSymbols[] = {"",  "",  "+",  "-",  "*", "//", "%",
                                         "^", "&", "<<", ">>", "<", "=="};
  return kSymbols[static_cast<int>(op)];
}

std::string TextAt(const IndexDag& dag, int32_t id, int depth);

std::string CallText(const IndexDag& dag, const IndexNode& n, int depth) {
  std::string out = "transform(";
  for (int32_t arg : dag.calls[n.a].args) out += TextAt(dag, arg, depth - 1) + ", ";
  return out + ")[" + std::to_string(n.c) + "]";
}

std::string TextAt(const IndexDag& dag, int32_t id, int depth) {
  const IndexNode& n = dag.nodes[id];
  if (n.op == IndexOp::kConst) return std::to_string(n.c);
  if (n.op == IndexOp::kCoord) return dag.coord_names[n.c];
  if (depth == 0) return "..";
  auto sub = [&](int32_t at) { return TextAt(dag, at, depth - 1); };
  switch (n.op) {
    case IndexOp::kInside: return "inside(" + sub(n.a) + ", " + std::to_string(n.c) + ")";
    case IndexOp::kAfter: return sub(n.a);
    case IndexOp::kSelect:
      return "select(" + sub(n.a) + ", " + sub(n.b) + ", " + sub(static_cast<int32_t>(n.c)) + ")";
    case IndexOp::kTable: return "table[" + sub(n.a) + ", " + std::to_string(n.c) + "]";
    case IndexOp::kCall: return CallText(dag, n, depth);
    default: return "(" + sub(n.a) + " " + Symbol(n.op) + " " + sub(n.b) + ")";
  }
}

}  // namespace

bool ApplyIndexOp(IndexOp op, int64_t a, int64_t b, int64_t* out, const char** why) {
  *why = "overflow";
  switch (op) {
    case IndexOp::kAdd: return !__builtin_add_overflow(a, b, out);
    case IndexOp::kSub: return !__builtin_sub_overflow(a, b, out);
    case IndexOp::kMul: return !__builtin_mul_overflow(a, b, out);
    case IndexOp::kFloorDiv:
    case IndexOp::kFloorMod: return DivideOp(op, a, b, out, why);
    case IndexOp::kXor: *out = a ^ b; return true;
    case IndexOp::kAnd: *out = a & b; return true;
    case IndexOp::kLess: *out = a < b; return true;
    case IndexOp::kEqual: *out = a == b; return true;
    default: return ShiftOp(op, a, b, out, why);
  }
}

std::vector<int32_t> OperandsOf(const IndexDag& dag, int32_t node) {
  const IndexNode& n = dag.nodes[node];
  if (IsBinary(n.op) || n.op == IndexOp::kAfter) return {n.a, n.b};
  if (n.op == IndexOp::kInside || n.op == IndexOp::kTable) return {n.a};
  if (n.op == IndexOp::kSelect) return {n.a, n.b, static_cast<int32_t>(n.c)};
  if (n.op == IndexOp::kCall) return dag.calls[n.a].args;
  return {};
}

std::string NodeText(const IndexDag& dag, int32_t node) { return TextAt(dag, node, kTextDepth); }

size_t DagBuilder::Hash::operator()(const IndexNode& n) const {
  uint64_t h = static_cast<uint64_t>(n.op);
  for (uint64_t v :
       {static_cast<uint64_t>(n.a), static_cast<uint64_t>(n.b), static_cast<uint64_t>(n.c)}) {
    h = (h ^ v) * 0x9E3779B97F4A7C15ull;
    h ^= h >> 29;
  }
  return h;
}

DagBuilder::DagBuilder(const std::vector<int64_t>& domain) {
  dag_.domain = domain;
  for (size_t i = 0; i < domain.size(); ++i) dag_.coord_names.push_back("i" + std::to_string(i));
}

int32_t DagBuilder::Intern(const IndexNode& node) {
  auto [it, fresh] = index_.emplace(node, static_cast<int32_t>(dag_.nodes.size()));
  if (fresh) {
    bounds_.push_back(BoundsOf(node));
    dag_.nodes.push_back(node);
  }
  return it->second;
}

namespace {

/*! [low, high] of a*b, a+b or a-b over two intervals; false when 64 bits do not hold it. */
bool Corners(IndexOp op, int64_t al, int64_t ah, int64_t bl, int64_t bh, int64_t* low,
             int64_t* high) {
  bool first = true;
  for (int64_t a : {al, ah}) {
    for (int64_t b : {bl, bh}) {
      int64_t v = 0;
      const char* why = nullptr;
      if (!ApplyIndexOp(op, a, b, &v, &why)) return false;
      *low = first ? v : std::min(*low, v);
      *high = first ? v : std::max(*high, v);
      first = false;
    }
  }
  return true;
}

}  // namespace

DagBuilder::Bounds DagBuilder::BoundsOf(const IndexNode& n) const {
  if (n.op == IndexOp::kConst) return {true, n.c, n.c};
  if (n.op == IndexOp::kCoord) return {true, 0, dag_.domain[n.c] - 1};
  if (!IsBinary(n.op)) {
    // What survives Inside is inside; it is known only when nothing can fail, which Inside() saw.
    return {};
  }
  const Bounds &a = bounds_[n.a], &b = bounds_[n.b];
  if (!a.known || !b.known) return {};
  Bounds out{true, 0, 0};
  switch (n.op) {
    case IndexOp::kAdd:
    case IndexOp::kSub:
    case IndexOp::kMul:
      out.known = Corners(n.op, a.low, a.high, b.low, b.high, &out.low, &out.high);
      return out;
    case IndexOp::kFloorDiv:
      if (b.low <= 0) return {};
      out.known = Corners(n.op, a.low, a.high, b.low, b.high, &out.low, &out.high);
      return out;
    case IndexOp::kFloorMod: return b.low > 0 ? Bounds{true, 0, b.high - 1} : Bounds{};
    case IndexOp::kXor:
      if (a.low < 0 || b.low < 0) return {true, kMin, kMax};
      return {true, 0, MaskOver(std::max(a.high, b.high))};
    case IndexOp::kAnd:
      if (a.low >= 0 && b.low >= 0) return {true, 0, std::min(a.high, b.high)};
      if (a.low >= 0 || b.low >= 0) return {true, 0, a.low >= 0 ? a.high : b.high};
      return {true, kMin, kMax};
    case IndexOp::kLess:
    case IndexOp::kEqual: return {true, 0, 1};
    default:
      if (b.low < 0 || b.high > 63) return {};
      if (n.op == IndexOp::kShr && a.low >= 0) return {true, a.low >> b.high, a.high >> b.low};
      if (n.op == IndexOp::kShl && a.low >= 0 && a.high <= kMax >> b.high) {
        return {true, a.low << b.low, a.high << b.high};
      }
      return {true, kMin, kMax};
  }
}

int32_t DagBuilder::Binary(IndexOp op, int32_t a, int32_t b) {
  const IndexNode &x = dag_.nodes[a], &y = dag_.nodes[b];
  if (x.op == IndexOp::kConst && y.op == IndexOp::kConst) {
    int64_t v = 0;
    const char* why = nullptr;
    if (ApplyIndexOp(op, x.c, y.c, &v, &why)) return Const(v);
  }
  bool zero = y.op == IndexOp::kConst && y.c == 0, one = y.op == IndexOp::kConst && y.c == 1;
  bool adds = op == IndexOp::kAdd || op == IndexOp::kSub || op == IndexOp::kXor ||
              op == IndexOp::kShl || op == IndexOp::kShr;
  if ((zero && adds) || (one && (op == IndexOp::kMul || op == IndexOp::kFloorDiv))) return a;
  bool zero_left = x.op == IndexOp::kConst && x.c == 0;
  if (zero_left && (op == IndexOp::kAdd || op == IndexOp::kXor)) return b;
  if (x.op == IndexOp::kConst && x.c == 1 && op == IndexOp::kMul) return b;
  return Intern({op, a, b, 0});
}

int32_t DagBuilder::Inside(int32_t a, int64_t extent) {
  const Bounds& k = bounds_[a];
  if (k.known && k.low >= 0 && k.high < extent) return a;
  return Intern({IndexOp::kInside, a, -1, extent});
}

int32_t DagBuilder::After(int32_t a, int32_t b) {
  return bounds_[b].known || a == b ? a : Intern({IndexOp::kAfter, a, b, 0});
}

int32_t DagBuilder::Select(int32_t condition, int32_t then, int32_t otherwise) {
  return Intern({IndexOp::kSelect, condition, then, otherwise});
}

int32_t DagBuilder::Table(int32_t table, int32_t row, int64_t column) {
  return Intern({IndexOp::kTable, row, table, column});
}

int32_t DagBuilder::AddTable(IndexTable table) {
  dag_.tables.push_back(std::move(table));
  return static_cast<int32_t>(dag_.tables.size()) - 1;
}

int32_t DagBuilder::AddCall(tvm::ffi::ObjectRef map, std::vector<int32_t> args) {
  dag_.calls.push_back({std::move(map), std::move(args)});
  return static_cast<int32_t>(dag_.calls.size()) - 1;
}

int32_t DagBuilder::CallOutput(int32_t call, int64_t output) {
  return Intern({IndexOp::kCall, call, -1, output});
}

std::vector<int32_t> DagBuilder::Inline(const IndexDag& other, const std::vector<int32_t>& coords) {
  std::vector<int32_t> to(other.nodes.size()), tables, calls;
  for (const IndexTable& t : other.tables) tables.push_back(AddTable(t));
  calls.resize(other.calls.size(), -1);
  auto call = [&](int32_t k) {
    if (calls[k] >= 0) return calls[k];
    std::vector<int32_t> args;
    for (int32_t a : other.calls[k].args) args.push_back(to[a]);
    return calls[k] = AddCall(other.calls[k].map, args);
  };
  for (size_t i = 0; i < other.nodes.size(); ++i) {
    const IndexNode& n = other.nodes[i];
    if (n.op == IndexOp::kConst) to[i] = Const(n.c);
    if (n.op == IndexOp::kCoord) to[i] = coords[n.c];
    if (IsBinary(n.op)) to[i] = Binary(n.op, to[n.a], to[n.b]);
    if (n.op == IndexOp::kInside) to[i] = Inside(to[n.a], n.c);
    if (n.op == IndexOp::kAfter) to[i] = After(to[n.a], to[n.b]);
    if (n.op == IndexOp::kSelect) to[i] = Select(to[n.a], to[n.b], to[n.c]);
    if (n.op == IndexOp::kTable) to[i] = Table(tables[n.b], to[n.a], n.c);
    if (n.op == IndexOp::kCall) to[i] = CallOutput(call(n.a), n.c);
  }
  std::vector<int32_t> out;
  for (int32_t o : other.outputs) out.push_back(to[o]);
  return out;
}

IndexDag DagBuilder::Finish(std::vector<int32_t> outputs, const std::vector<int64_t>& codomain) && {
  dag_.outputs = std::move(outputs);
  dag_.codomain = codomain;
  return std::move(dag_);
}

}  // namespace tirx
