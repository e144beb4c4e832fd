/*!
 * Integer expressions over the coordinates of a box, as one hash-consed array.
 *
 * Values are 64-bit two's complement. add, sub, mul, floordiv and floormod are integer operations
 * and fail where the exact result does not fit 64 bits or the divisor is zero. xor, and, shl, shr
 * act on bit patterns: shl drops high bits and shr fills with zeros (a logical shift, also of
 * negative numbers); they fail only for a shift amount outside 0..63. Analyses must treat every
 * node that an output reaches as evaluated: nothing that may fail is ever dropped by the builder.
 */
#ifndef TIRX_LAYOUT_INDEX_DAG_H_
#define TIRX_LAYOUT_INDEX_DAG_H_
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/object.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tirx {

/*! Operations; the numbers are part of the stored form of IndexExpr. */
enum class IndexOp : int32_t {
  kConst = 0,     //!< c
  kCoord = 1,     //!< coordinate c of the point
  kAdd = 2,       //!< a + b
  kSub = 3,       //!< a - b
  kMul = 4,       //!< a * b
  kFloorDiv = 5,  //!< floor(a / b)
  kFloorMod = 6,  //!< a - b * floor(a / b), the sign of b
  kXor = 7,       //!< bitwise
  kAnd = 8,       //!< bitwise
  kShl = 9,       //!< bit pattern of a, b places up
  kShr = 10,      //!< bit pattern of a, b places down, zeros enter
  kLess = 11,     //!< 1 when a < b, else 0
  kEqual = 12,    //!< 1 when a == b, else 0
  // Below: made by lowering, not part of IndexExpr.
  kInside = 13,  //!< a, and fails unless 0 <= a < c: where a composition enters a domain
  kSelect = 14,  //!< node b when node a is not 0, else node c; only the chosen one is evaluated
  kTable = 15,   //!< entry (row a, column c) of tables[b]; a is inside the table
  kCall = 16,    //!< output c of calls[a]: a registered transform without a formula
  kAfter = 17,   //!< a, and fails where b fails: a value that is needed though nothing reads it
};

/*! One operation. Operand nodes come before it in the array. */
struct IndexNode {
  IndexOp op{IndexOp::kConst};
  int32_t a{-1};
  int32_t b{-1};
  int64_t c{0};
  bool operator==(const IndexNode& o) const {
    return op == o.op && a == o.a && b == o.b && c == o.c;
  }
};

/*! The values of a FiniteTable: row r, column j is values[r * columns + j]. */
struct IndexTable {
  int64_t columns{1};
  std::vector<int64_t> values;
};

/*! An opaque transform applied to nodes; `map` is the TransformMap. */
struct IndexCall {
  tvm::ffi::ObjectRef map;
  std::vector<int32_t> args;
};

/*! A lowered map: outputs[j] is the node of codomain axis j. */
struct IndexDag {
  std::vector<int64_t> domain;
  std::vector<int64_t> codomain;
  std::vector<std::string> coord_names;  //!< for messages: axis names, or i0, i1, ..
  std::vector<IndexNode> nodes;
  std::vector<int32_t> outputs;
  std::vector<IndexTable> tables;
  std::vector<IndexCall> calls;
};

/*! Whether a and b of this operation are nodes (kCall and kTable excepted: see IndexOp). */
inline bool IsBinary(IndexOp op) { return op >= IndexOp::kAdd && op <= IndexOp::kEqual; }
/*! The nodes that a node reads: at most three for all but kCall. */
std::vector<int32_t> OperandsOf(const IndexDag& dag, int32_t node);
/*! "(i0 * 4 + (i1 & 3))", cut off at a fixed depth. */
std::string NodeText(const IndexDag& dag, int32_t node);

/*! Builds a DAG; equal nodes are shared. Folds only operations on constants that succeed, and the
 *  units x + 0, x - 0, x * 1, x // 1, x ^ 0, x << 0, x >> 0, which keep x. */
class DagBuilder {
 public:
  explicit DagBuilder(const std::vector<int64_t>& domain);
  int32_t Const(int64_t value) { return Intern({IndexOp::kConst, -1, -1, value}); }
  int32_t Coord(int64_t axis) { return Intern({IndexOp::kCoord, -1, -1, axis}); }
  int32_t Binary(IndexOp op, int32_t a, int32_t b);
  int32_t Add(int32_t a, int32_t b) { return Binary(IndexOp::kAdd, a, b); }
  int32_t Mul(int32_t a, int64_t k) { return Binary(IndexOp::kMul, a, Const(k)); }
  int32_t Div(int32_t a, int64_t k) { return Binary(IndexOp::kFloorDiv, a, Const(k)); }
  int32_t Mod(int32_t a, int64_t k) { return Binary(IndexOp::kFloorMod, a, Const(k)); }
  int32_t Xor(int32_t a, int32_t b) { return Binary(IndexOp::kXor, a, b); }
  int32_t And(int32_t a, int64_t k) { return Binary(IndexOp::kAnd, a, Const(k)); }
  /*! a, failing outside [0, extent); left out when the interval of a shows that it is inside. */
  int32_t Inside(int32_t a, int64_t extent);
  /*! a, failing where b fails; left out when b cannot fail. */
  int32_t After(int32_t a, int32_t b);
  int32_t Select(int32_t condition, int32_t then, int32_t otherwise);
  int32_t Table(int32_t table, int32_t row, int64_t column);
  int32_t AddTable(IndexTable table);
  int32_t AddCall(tvm::ffi::ObjectRef map, std::vector<int32_t> args);
  int32_t CallOutput(int32_t call, int64_t output);
  /*! `other` with its coordinates replaced by nodes of this builder; returns its outputs. */
  std::vector<int32_t> Inline(const IndexDag& other, const std::vector<int32_t>& coords);
  const IndexNode& at(int32_t node) const { return dag_.nodes[node]; }
  IndexDag Finish(std::vector<int32_t> outputs, const std::vector<int64_t>& codomain) &&;

 private:
  struct Hash {
    size_t operator()(const IndexNode& n) const;
  };
  /*! known: the node has a value at every point of the domain, in [low, high]. */
  struct Bounds {
    bool known{false};
    int64_t low{0}, high{0};
  };
  int32_t Intern(const IndexNode& node);
  Bounds BoundsOf(const IndexNode& node) const;
  IndexDag dag_;
  std::vector<Bounds> bounds_;
  std::unordered_map<IndexNode, int32_t, Hash> index_;
};

/*! Why a point has no value: the node that failed and a word for it. */
struct IndexFault {
  int32_t node{-1};
  std::string reason;  //!< "overflow", "division by zero", "shift amount", "outside the domain"..
};

/*! Result of one checked operation; false when it fails (`why` says how). */
bool ApplyIndexOp(IndexOp op, int64_t a, int64_t b, int64_t* out, const char** why);

/*! Values at points, without raising: for enumeration. Keeps its scratch memory between points. */
class PointEvaluator {
 public:
  explicit PointEvaluator(const IndexDag& dag);
  /*! Writes codomain-rank values; false when the point has no value, with `fault()` saying why.
   *  The point must lie in the domain. */
  bool operator()(const int64_t* point, int64_t* out);
  const IndexFault& fault() const { return fault_; }

 private:
  bool Compute(int32_t node);
  bool ComputeLazily(int32_t node);
  bool Call(const IndexNode& node, int64_t* out);
  bool Fail(int32_t node, const char* why);
  const IndexDag& dag_;
  bool strict_;  //!< no select and no call: every reached node is evaluated in order
  std::vector<int32_t> order_;
  std::vector<int64_t> values_;
  std::vector<uint32_t> done_;
  uint32_t round_{0};
  const int64_t* point_{nullptr};
  IndexFault fault_;
};

/*! Calls visit(point) for every point of the box, row-major; stops when it returns false. */
template <typename Visit>
bool ForEachPoint(const std::vector<int64_t>& extents, Visit visit) {
  std::vector<int64_t> point(extents.size(), 0);
  for (;;) {
    if (!visit(const_cast<const std::vector<int64_t>&>(point))) return false;
    size_t d = extents.size();
    while (d-- > 0 && ++point[d] == extents[d]) point[d] = 0;
    if (d == static_cast<size_t>(-1)) return true;
  }
}

}  // namespace tirx
#endif  // TIRX_LAYOUT_INDEX_DAG_H_
