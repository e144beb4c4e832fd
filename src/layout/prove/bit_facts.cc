// Facts of outputs that are linear over GF(2) up to a constant: exact ranges by an XOR basis, rank
// of the whole bit matrix (any number of bits on either side), and the affine image.
#include <algorithm>
#include <bit>

#include "facts.h"
#include "xor_basis.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

constexpr size_t kMaxBlocks = 1024;

struct InputBit {
  int32_t axis;
  int index;
};

/*! The outputs with bit forms as one matrix: word j of a column belongs to outputs[j]. */
struct BitMatrix {
  std::vector<int32_t> outputs;
  std::vector<InputBit> bits;
  std::vector<Words> columns;  // per input bit
  Words constant;
};

BitMatrix MatrixOf(const IndexDag& dag, const Analysis& a) {
  BitMatrix m;
  for (size_t axis = 0; axis < dag.domain.size(); ++axis) {
    for (int b = 0; b < BitsOf(dag.domain[axis]); ++b) {
      m.bits.push_back({static_cast<int32_t>(axis), b});
    }
  }
  for (size_t j = 0; j < dag.outputs.size(); ++j) {
    if (a.nodes[dag.outputs[j]].bits) m.outputs.push_back(static_cast<int32_t>(j));
  }
  m.columns.assign(m.bits.size(), Words(m.outputs.size(), 0));
  for (size_t j = 0; j < m.outputs.size(); ++j) {
    const BitForm& form = *a.nodes[dag.outputs[m.outputs[j]]].bits;
    m.constant.push_back(form.constant);
    for (const BitTerm& t : form.terms) m.columns[t.bit][j] = t.column;
  }
  return m;
}

/*! The envelope point with these input bits set. */
Point PointOf(const BitMatrix& m, const Words& inputs, size_t rank) {
  Point out(rank, 0);
  for (size_t i = 0; i < m.bits.size(); ++i) {
    if (GetBit(inputs, i)) out[m.bits[i].axis] |= int64_t{1} << m.bits[i].index;
  }
  return out;
}

bool PowersOfTwo(const Extents& extents) {
  return std::all_of(extents.begin(), extents.end(),
                     [](int64_t n) { return std::has_single_bit(static_cast<uint64_t>(n)); });
}

// ---- ranges -------------------------------------------------------------------------------------

/*! The numbers with the given upper bits and any lower `free` bits. */
struct Block {
  int64_t prefix;
  int free;
};

/*! [0, n) as disjoint blocks, one for each bit of n. */
std::vector<Block> DyadicBlocks(int64_t n) {
  std::vector<Block> out;
  int64_t start = 0;
  for (int k = 62; k >= 0; --k) {
    if (!((n >> k) & 1)) continue;
    out.push_back({start, k});
    start |= int64_t{1} << k;
  }
  return out;
}

/*! One output on boxes of input bits. */
class OutputRange {
 public:
  OutputRange(const BitMatrix& m, size_t row, const Extents& domain)
      : m_(m), row_(row), rank_(domain.size()) {}

  /*! The point of the product of blocks whose value is largest (sign 1) or smallest (sign -1). */
  Point Extreme(const std::vector<Block>& blocks, int sign) const {
    XorBasis basis(1, m_.bits.size());
    uint64_t start = m_.constant[row_] ^ (uint64_t{1} << 63);
    Words inputs(m_.bits.size() / 64 + 1, 0);
    for (size_t i = 0; i < m_.bits.size(); ++i) {
      const Block& block = blocks[m_.bits[i].axis];
      if (m_.bits[i].index < block.free) {
        basis.Insert({m_.columns[i][row_]}, i);
      } else if ((block.prefix >> m_.bits[i].index) & 1) {
        start ^= m_.columns[i][row_];
        FlipBit(&inputs, i);
      }
    }
    Words chosen = basis.Inputs(basis.Maximize({sign > 0 ? start : ~start}));
    for (size_t w = 0; w < chosen.size(); ++w) inputs[w] ^= chosen[w];
    return PointOf(m_, inputs, rank_);
  }

 private:
  const BitMatrix& m_;
  size_t row_;
  size_t rank_;
};

/*! The domain as products of blocks; empty when there are too many. */
std::vector<std::vector<Block>> BlocksOf(const Extents& domain) {
  std::vector<std::vector<Block>> out{{}};
  for (int64_t n : domain) {
    std::vector<std::vector<Block>> next;
    std::vector<Block> axis = DyadicBlocks(n);
    if (out.size() * axis.size() > kMaxBlocks) return {};
    for (const auto& head : out) {
      for (const Block& b : axis) {
        next.push_back(head);
        next.back().push_back(b);
      }
    }
    out = std::move(next);
  }
  return out;
}

/*! Every output with a bit form stays inside its extent: its extremes on every block do. */
bool BlocksInside(const BitMatrix& m, Evidence* e) {
  const IndexDag& dag = e->dag();
  auto blocks = BlocksOf(dag.domain);
  for (size_t row = 0; row < m.outputs.size(); ++row) {
    OutputRange range(m, row, dag.domain);
    for (const auto& block : blocks) {
      for (int sign : {1, -1}) e->TryPoint(range.Extreme(block, sign), "XOR-basis extreme");
      if (e->proof().bounds.status == Status::kDisproven) return false;
    }
  }
  return !blocks.empty();
}

// ---- rank and image -----------------------------------------------------------------------------

/*! For a kernel vector, two points of the domain that differ by it. On an axis [0,n) of b bits any
 *  delta below 2^b is (delta) ^ (0) when delta < n, else (2^(b-1)) ^ (delta ^ 2^(b-1)). */
std::pair<Point, Point> PairOf(const Point& delta, const Extents& domain) {
  Point p = delta, q(delta.size(), 0);
  for (size_t i = 0; i < delta.size(); ++i) {
    if (delta[i] < domain[i]) continue;
    p[i] = int64_t{1} << (BitsOf(domain[i]) - 1);
    q[i] = delta[i] ^ p[i];
  }
  return {p, q};
}

std::vector<char> OpenAxes(const DigitBox& box, const Recovery& recovery) {
  std::vector<char> open(box.domain().size(), false);
  for (size_t d = 0; d < box.size(); ++d) open[box[d].axis] |= !recovery.resolved[d];
  return open;
}

XorBasis ImageBasis(const BitMatrix& m) {
  XorBasis basis(m.outputs.size(), m.bits.size());
  for (size_t i = 0; i < m.bits.size(); ++i) basis.Insert(m.columns[i], i);
  return basis;
}

Words Shifted(const BitMatrix& m, const Point& y) {
  Words out = m.constant;
  for (size_t j = 0; j < out.size(); ++j) out[j] ^= static_cast<uint64_t>(y[m.outputs[j]]);
  return out;
}

/*! An affine image that contains 0 and every single-bit point contains the whole codomain. */
void SeekOutsideImage(const BitMatrix& m, const XorBasis& basis, Evidence* e) {
  Point y(e->codomain().size(), 0);
  auto missed = [&] {
    if (basis.IsZero(basis.Reduce(Shifted(m, y)))) return false;
    e->Missed(y, "outside the affine image over GF(2)");
    return true;
  };
  if (missed()) return;
  for (int32_t j : m.outputs) {
    for (int b = 0; b < BitsOf(e->codomain()[j]); ++b) {
      y[j] = int64_t{1} << b;
      if (missed()) return;
    }
    y[j] = 0;
  }
}

/*! On an injective map of the envelope, the value of a point outside the domain is missed. */
void SeekValueOutsideDomain(const BitMatrix& m, Evidence* e) {
  const Extents& domain = e->dag().domain;
  for (size_t axis = 0; axis < domain.size(); ++axis) {
    for (int64_t x = domain[axis]; x < (int64_t{1} << BitsOf(domain[axis])); x = x | (x + 1)) {
      Words value = m.constant;
      for (size_t i = 0; i < m.bits.size(); ++i) {
        bool set = m.bits[i].axis == static_cast<int32_t>(axis) && ((x >> m.bits[i].index) & 1);
        for (size_t j = 0; set && j < value.size(); ++j) value[j] ^= m.columns[i][j];
      }
      Point y(value.begin(), value.end());
      if (e->InCodomain(y)) return e->Missed(y, "only points outside the ragged domain map here");
    }
  }
}

}  // namespace

void BitBounds(const Analysis& a, Evidence* e) {
  BitMatrix m = MatrixOf(e->dag(), a);
  if (e->proof().bounds.status != Status::kUnknown || m.outputs.empty()) return;
  bool all_inside = true;
  for (size_t j = 0; j < e->dag().outputs.size(); ++j) {
    const NodeFacts& f = a.nodes[e->dag().outputs[j]];
    int64_t last = e->codomain()[j] - 1;
    if (!f.safe) return;
    bool inside = f.range.Within(0, last) || (f.bits && BitRange(*f.bits).Within(0, last));
    if (!inside && !f.bits) return;
    all_inside &= inside;
  }
  if (all_inside) return e->Prove(&e->proof().bounds, "maximum of an XOR basis");
  if (BlocksInside(m, e)) e->Prove(&e->proof().bounds, "maxima of XOR bases on dyadic blocks");
}

void BitInjectivity(const Analysis& a, const Recovery& recovery, Evidence* e) {
  BitMatrix m = MatrixOf(e->dag(), a);
  if (e->proof().injective.status != Status::kUnknown || m.outputs.empty()) return;
  std::vector<char> open = OpenAxes(a.box, recovery);
  XorBasis basis(m.outputs.size(), m.bits.size());
  for (size_t i = 0; i < m.bits.size(); ++i) {
    if (!open[m.bits[i].axis] || basis.Insert(m.columns[i], i)) continue;
    Point delta = PointOf(m, basis.relation(), a.box.domain().size());
    auto [p, q] = PairOf(delta, a.box.domain());
    e->TryCollision(p, q, "a vector of the GF(2) kernel");
    return;
  }
  e->Prove(&e->proof().injective, "full column rank over GF(2)");
}

void BitSurjectivity(const Analysis& a, Evidence* e) {
  BitMatrix m = MatrixOf(e->dag(), a);
  if (m.outputs.size() != e->dag().outputs.size()) return;
  XorBasis basis = ImageBasis(m);
  SeekOutsideImage(m, basis, e);
  bool bounded = e->proof().bounds.status == Status::kProven;
  int64_t log2 = Count(e->codomain()).Log2();
  bool onto = log2 == static_cast<int64_t>(basis.rank());
  if (bounded && onto && PowersOfTwo(e->dag().domain)) {
    e->Prove(&e->proof().surjective, "an affine image over GF(2) of 2^rank points");
  }
  if (basis.rank() == m.bits.size()) SeekValueOutsideDomain(m, e);
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
