// The forward pass: every node of the DAG gets a range, an affine form and a bit form where it has
// them. When a division fails only because the digits are too coarse, the pass is repeated on finer
// digits: x // 4 and x % 4 of one coordinate become two independent digits.
#include <algorithm>
#include <bit>

#include "node_facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

using Cuts = std::vector<std::vector<int64_t>>;

constexpr size_t kMaxSuspects = 256;

class Pass {
 public:
  Pass(const IndexDag& dag, const Cuts& cuts)
      : dag_(dag),
        result_{DigitBox(dag.domain, cuts), std::vector<NodeFacts>(dag.nodes.size()), {}} {
    int32_t bit = 0;
    for (int64_t extent : dag.domain) {
      first_bit_.push_back(bit);
      bit += BitsOf(extent);
    }
  }

  Analysis Run() {
    for (size_t i = 0; i < dag_.nodes.size(); ++i) Visit(dag_.nodes[i], &result_.nodes[i]);
    return std::move(result_);
  }
  const std::vector<CutRequest>& requests() const { return requests_; }

 private:
  const NodeFacts& At(int32_t node) const { return result_.nodes[node]; }

  void Visit(const IndexNode& n, NodeFacts* f) {
    switch (n.op) {
      case IndexOp::kConst:
        return Leaf(AffineForm{n.c, {}}, BitForm{static_cast<uint64_t>(n.c), {}}, f);
      case IndexOp::kCoord: return Leaf(Coordinate(n.c), CoordinateBits(n.c), f);
      case IndexOp::kInside: return Inside(n, f);
      case IndexOp::kAfter:
        if (At(n.a).safe && At(n.b).safe) *f = At(n.a);
        return;
      case IndexOp::kSelect: return Select(n, f);
      case IndexOp::kTable: return Table(n, f);
      case IndexOp::kCall: return Call(n, f);
      default: return Binary(n, f);
    }
  }

  void Leaf(AffineForm affine, BitForm bits, NodeFacts* f) {
    f->safe = true;
    f->range = result_.box.Range(affine);
    f->affine = std::move(affine);
    f->bits = std::move(bits);
  }

  AffineForm Coordinate(int64_t axis) const {
    AffineForm out;
    for (int32_t d = result_.box.first(axis); d < result_.box.first(axis + 1); ++d) {
      out.terms.push_back({d, result_.box[d].weight});
    }
    return out;
  }

  BitForm CoordinateBits(int64_t axis) const {
    BitForm out;
    for (int b = 0; b < BitsOf(dag_.domain[axis]); ++b) {
      out.terms.push_back({first_bit_[axis] + b, uint64_t{1} << b});
    }
    return out;
  }

  void Binary(const IndexNode& n, NodeFacts* f) {
    const NodeFacts &a = At(n.a), &b = At(n.b);
    if (!a.safe || !b.safe) return;
    Interval range;
    bool interval = IntervalRule(n.op, a.range, b.range, &range);
    if (interval) f->range = range;
    if (a.bits && b.bits) f->bits = BitRule(n.op, *a.bits, *b.bits, a.range);
    f->affine = Affine(n.op, a, b);
    f->safe = interval || f->bits || f->affine;
    if (f->affine) Meet(affine_range_, f);
    if (f->bits) MeetBits(f);
    if (!f->safe) return Suspect(n.op, a, b);
    if (f->range.IsConst()) SetConstant(static_cast<int64_t>(f->range.lo), f);
  }

  /*! One value everywhere: a decided comparison, for instance. */
  static void SetConstant(int64_t value, NodeFacts* f) {
    f->affine = AffineForm{value, {}};
    f->bits = BitForm{static_cast<uint64_t>(value), {}};
  }

  static void Meet(const Interval& r, NodeFacts* f) {
    f->range = {std::max(f->range.lo, r.lo), std::min(f->range.hi, r.hi)};
  }

  static void MeetBits(NodeFacts* f) {
    uint64_t support = f->bits->Support();
    if (support >> 63) return;
    Meet({static_cast<int64_t>(f->bits->Always()), static_cast<int64_t>(support)}, f);
  }

  /*! A form whose exact range is representable: otherwise some point overflows. */
  std::optional<AffineForm> Checked(std::optional<AffineForm> form) {
    if (!form) return std::nullopt;
    Point low, high;
    Wide lo = result_.box.Min(*form), hi = result_.box.Max(*form);
    affine_range_ = {lo, hi};
    if (Fits(lo) && Fits(hi)) return form;
    result_.box.Min(*form, &low);
    result_.box.Max(*form, &high);
    if (!Fits(lo)) AddSuspect(low);
    if (!Fits(hi)) AddSuspect(high);
    return std::nullopt;
  }

  std::optional<AffineForm> Affine(IndexOp op, const NodeFacts& a, const NodeFacts& b) {
    if (!a.affine || !b.affine) return std::nullopt;
    if (op == IndexOp::kAdd) return Sum(a, b, 1);
    if (op == IndexOp::kSub) return Sum(a, b, -1);
    if (op == IndexOp::kXor && Disjoint(a, b)) return Checked(AffineSum(*a.affine, *b.affine, 1));
    if (b.affine->terms.empty()) return AffineByConstant(op, *a.affine, b.affine->base, a.range);
    bool symmetric = op == IndexOp::kMul || op == IndexOp::kAnd;
    if (symmetric && a.affine->terms.empty()) {
      return AffineByConstant(op, *b.affine, a.affine->base, b.range);
    }
    return std::nullopt;
  }

  /*! The exact range of a sum over separate axes is the sum of the exact ranges: no term is looked
   *  at again, and a chain of additions stays cheap. */
  std::optional<AffineForm> Sum(const NodeFacts& a, const NodeFacts& b, int sign) {
    auto form = AffineSum(*a.affine, *b.affine, sign);
    const Interval &x = a.range, &y = b.range;
    Interval sum =
        sign > 0 ? Interval{x.lo + y.lo, x.hi + y.hi} : Interval{x.lo - y.hi, x.hi - y.lo};
    if (!Separate(*a.affine, *b.affine) || !Fits(sum.lo) || !Fits(sum.hi)) return Checked(form);
    affine_range_ = sum;
    return form;
  }

  bool Separate(const AffineForm& a, const AffineForm& b) const {
    if (a.terms.empty() || b.terms.empty()) return true;
    auto axis = [&](const AffineTerm& t) { return result_.box[t.digit].axis; };
    return axis(a.terms.back()) < axis(b.terms.front()) ||
           axis(b.terms.back()) < axis(a.terms.front());
  }

  static bool Disjoint(const NodeFacts& a, const NodeFacts& b) {
    return a.bits && b.bits && (a.bits->Support() & b.bits->Support()) == 0;
  }

  std::optional<AffineForm> AffineByConstant(IndexOp op, const AffineForm& a, int64_t k,
                                             const Interval& range) {
    switch (op) {
      case IndexOp::kMul: return Checked(AffineScale(a, k));
      case IndexOp::kFloorDiv: return Divided(a, k, true);
      case IndexOp::kFloorMod: return Divided(a, k, false);
      case IndexOp::kAnd: return Masked(a, k);
      case IndexOp::kShl: return ShiftedUp(a, k, range);
      case IndexOp::kShr:
        if (range.lo < 0 || k < 0 || k > 62) return std::nullopt;
        return Divided(a, int64_t{1} << k, true);
      default: return std::nullopt;
    }
  }

  /*! Quotient or remainder; a negative divisor by floor(a/k) = floor(-a/-k), a%k = -(-a % -k). */
  std::optional<AffineForm> Divided(const AffineForm& a, int64_t k, bool quotient) {
    if (k == 0 || k == std::numeric_limits<int64_t>::min()) return std::nullopt;
    auto dividend = k > 0 ? std::optional<AffineForm>(a) : AffineScale(a, -1);
    if (!dividend) return std::nullopt;
    auto parts = AffineDivide(*dividend, k > 0 ? k : -k, result_.box, &requests_);
    if (!parts) return std::nullopt;
    if (quotient) return Checked(std::move(parts->quotient));
    return Checked(k > 0 ? std::move(parts->remainder) : AffineScale(parts->remainder, -1));
  }

  /*! a & (2^h - 2^l) = a mod 2^h - a mod 2^l, also for negative a. */
  std::optional<AffineForm> Masked(const AffineForm& a, int64_t mask) {
    if (mask <= 0) return std::nullopt;
    uint64_t low = mask & -mask, high = static_cast<uint64_t>(mask) + low;
    if (!std::has_single_bit(high) || (high >> 63)) return std::nullopt;
    auto above = Divided(a, static_cast<int64_t>(high), false);
    auto below = Divided(a, static_cast<int64_t>(low), false);
    return above && below ? Checked(AffineSum(*above, *below, -1)) : std::nullopt;
  }

  /*! A shift that drops no bit that matters is a product. */
  std::optional<AffineForm> ShiftedUp(const AffineForm& a, int64_t k, const Interval& range) {
    if (k < 0 || k > 62) return std::nullopt;
    Wide factor = Wide{1} << static_cast<int>(k);
    if (!Fits(range.lo * factor) || !Fits(range.hi * factor)) return std::nullopt;
    return Checked(AffineScale(a, int64_t{1} << k));
  }

  /*! A value that passes a check of the domain it enters keeps its forms. */
  void Inside(const IndexNode& n, NodeFacts* f) {
    const NodeFacts& a = At(n.a);
    if (!a.safe) return;
    *f = a;
    f->safe = a.range.Within(0, n.c - 1) || (a.bits && BitRange(*a.bits).Within(0, n.c - 1));
    if (f->safe) return Meet({0, n.c - 1}, f);
    f->affine.reset();
    f->bits.reset();
    if (a.affine) SuspectExtremes(*a.affine);
  }

  /*! Safe when both branches are: which one a point takes is not looked at, unless it is decided. */
  void Select(const IndexNode& n, NodeFacts* f) {
    const NodeFacts &condition = At(n.a), &yes = At(n.b), &no = At(static_cast<int32_t>(n.c));
    if (!condition.safe) return;
    if (!condition.range.Within(0, 0) && (condition.range.lo > 0 || condition.range.hi < 0)) {
      *f = yes;
    } else if (condition.range.Within(0, 0)) {
      *f = no;
    } else if (yes.safe && no.safe) {
      f->safe = true;
      f->range = {std::min(yes.range.lo, no.range.lo), std::max(yes.range.hi, no.range.hi)};
    }
  }

  /*! The row is inside the table by construction of the DAG; the range is read off the column. */
  void Table(const IndexNode& n, NodeFacts* f) {
    if (!At(n.a).safe) return;
    const IndexTable& table = dag_.tables[n.b];
    f->safe = true;
    f->range = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (size_t i = n.c; i < table.values.size(); i += table.columns) {
      f->range.lo = std::min<Wide>(f->range.lo, table.values[i]);
      f->range.hi = std::max<Wide>(f->range.hi, table.values[i]);
    }
  }

  /*! A transform without formula: structure.cc speaks for it; its DAG node stays unproved. */
  void Call(const IndexNode&, NodeFacts*) {}

  void Suspect(IndexOp op, const NodeFacts& a, const NodeFacts& b) {
    bool divides = op == IndexOp::kFloorDiv || op == IndexOp::kFloorMod;
    if (divides && b.affine) SuspectZero(*b.affine);
    if (a.affine) SuspectExtremes(*a.affine);
    if (b.affine) SuspectExtremes(*b.affine);
  }

  void SuspectExtremes(const AffineForm& form) {
    Point low, high;
    result_.box.Min(form, &low);
    result_.box.Max(form, &high);
    AddSuspect(low);
    AddSuspect(high);
  }

  /*! A point where one term alone brings the form to zero. */
  void SuspectZero(const AffineForm& form) {
    for (const AffineTerm& t : form.terms) {
      Wide base = form.base, zero = -base / t.coef;
      if (base % t.coef != 0 || !Fits(zero)) continue;
      std::vector<int64_t> digits(result_.box.size(), 0);
      digits[t.digit] = static_cast<int64_t>(zero);
      if (auto point = result_.box.PointOf(digits)) AddSuspect(*point);
    }
  }

  void AddSuspect(Point p) {
    if (result_.suspects.size() < kMaxSuspects) result_.suspects.push_back(std::move(p));
  }

  const IndexDag& dag_;
  Analysis result_;
  std::vector<int32_t> first_bit_;
  std::vector<CutRequest> requests_;
  Interval affine_range_;  // of the last form that Checked let through
};

/*! Cuts of an axis must divide one another, or its digits would not be independent. */
bool AddCut(std::vector<int64_t>* cuts, int64_t at) {
  auto above = std::lower_bound(cuts->begin(), cuts->end(), at);
  if (above != cuts->end() && *above % at != 0) return false;
  if (above != cuts->end() && *above == at) return false;
  if (above != cuts->begin() && at % *(above - 1) != 0) return false;
  cuts->insert(above, at);
  return true;
}

}  // namespace

Analysis Analyze(const IndexDag& dag) {
  Cuts cuts(dag.domain.size());
  // Each repetition adds a cut, and an axis has at most 62 of them; a handful is the rule.
  for (int round = 0;; ++round) {
    Pass pass(dag, cuts);
    Analysis result = pass.Run();
    bool finer = false;
    for (const CutRequest& r : pass.requests()) finer |= AddCut(&cuts[r.axis], r.at);
    if (!finer || round >= 64) return result;
  }
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
