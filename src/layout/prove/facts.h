/*!
 * From forms of the outputs to the four facts.
 */
#ifndef TIRX_LAYOUT_PROVE_FACTS_H_
#define TIRX_LAYOUT_PROVE_FACTS_H_
#include <tirx/layout/prove.h>

#include <string>
#include <utility>
#include <vector>

#include "node_facts.h"

namespace tirx {
namespace layout {
namespace prove {

/*! A natural number of any size: how many points a box has. */
class Count {
 public:
  explicit Count(const Extents& extents);
  Count& operator*=(uint64_t factor);
  bool operator==(const Count& o) const { return limbs_ == o.limbs_; }
  bool operator<(const Count& o) const;
  /*! log2 when it is a power of two, else -1. */
  int64_t Log2() const;
  std::string Text() const;

 private:
  std::vector<uint64_t> limbs_{1};  // base 2^64, least significant first, no leading zeros
};

/*! What the analyses have established of one DAG; disproofs pass through evaluation. */
class Evidence {
 public:
  explicit Evidence(const IndexDag& dag, LayoutProof proof = {});
  const IndexDag& dag() const { return dag_; }
  LayoutProof& proof() { return proof_; }
  const Extents& codomain() const { return dag_.codomain; }
  void Prove(Fact* fact, const std::string& argument);
  /*! Evaluates p: a point without value disproves totality, a value outside the codomain bounds. */
  void TryPoint(const Point& p, const std::string& argument);
  /*! Disproves injectivity if p and q have the same value. */
  bool TryCollision(const Point& p, const Point& q, const std::string& argument);
  /*! The codomain point y is known not to be reached. */
  void Missed(Point y, const std::string& argument);
  /*! Known by counting alone. */
  void Disprove(Fact* fact, const std::string& argument);
  std::optional<Point> ValueAt(const Point& p);
  bool InCodomain(const Point& y) const;

 private:
  const IndexDag& dag_;
  PointEvaluator evaluate_;
  LayoutProof proof_;
};

/*! Which digits two points with equal values must share. */
struct Recovery {
  struct Step {
    int32_t digit, row;
  };
  std::vector<char> resolved;  // per digit
  std::vector<Step> order;     // digits recovered one by one, and in which output
  bool by_residue{false};      // some of them modulo the other strides
  bool by_rank{false};         // the rest by column rank
  bool Complete() const;
};
/*! The affine outputs, as (output, form). */
using Rows = std::vector<std::pair<int32_t, const AffineForm*>>;
Rows AffineRows(const IndexDag& dag, const Analysis& analysis);

/*! recover.cc: dominance, then rank modulo 2^31-1, over the affine outputs. */
Recovery RecoverDigits(const DigitBox& box, const Rows& rows);
/*! collide.cc: candidate pairs from zero columns, parallel columns (GCD) and carries. */
void SeekCollision(const DigitBox& box, const Rows& rows, const Recovery& recovery, Evidence* e);
/*! kernel.cc: decides injectivity when the open digits have at most one linear dependency. Unless
 *  these are `all` that is open, points may collide in other digits: then nothing is proved. */
void DecideByKernel(const DigitBox& box, const std::vector<int32_t>& open, bool all,
                    const Rows& rows, Evidence* e);
/*! cover.cc: surjectivity of affine outputs. */
void CoverCodomain(const DigitBox& box, const Rows& rows, Evidence* e);
/*! A codomain point that digit recovery cannot decode; needs every output affine and every digit
 *  recovered by dominance. */
void SeekUndecodable(const DigitBox& box, const Rows& rows, const Recovery& r, Evidence* e);

/*! bit_facts.cc: ranges, rank and image over GF(2). Digits in `recovery` are already known. */
void BitBounds(const Analysis& a, Evidence* e);
void BitInjectivity(const Analysis& a, const Recovery& recovery, Evidence* e);
void BitSurjectivity(const Analysis& a, Evidence* e);

/*! counting.cc: more points than the ranges allow; points against the codomain. */
void CountValues(const Analysis& a, Evidence* e);
void CountPlaces(Evidence* e);

/*! prove.cc: all arguments on a DAG that is one part, cases excepted. */
struct Result {
  LayoutProof proof;
  Analysis analysis;
};
Result ProveOnePart(const IndexDag& dag);
/*! cases.cc: the domain cut where comparisons of coordinates with constants change. */
void ProveByCases(const Analysis& analysis, Evidence* e);
/*! counting.cc: looks for the pair that counting promises, among the first `budget` points. */
void SeekByPigeonhole(const Analysis& a, int64_t budget, Evidence* e);

/*! One connected part of a DAG: the outputs that share coordinates, and these coordinates. */
struct Part {
  IndexDag dag;
  std::vector<int32_t> axes, outputs;  // of the whole
};
/*! parts.cc: empty when the DAG is one part. */
std::vector<Part> SplitParts(const IndexDag& dag);
LayoutProof JoinParts(const IndexDag& dag, const std::vector<Part>& parts,
                      const std::vector<LayoutProof>& proofs);

/*! Takes from `more` what `proof` does not know. */
void Fill(const LayoutProof& more, LayoutProof* proof);
bool Decided(const LayoutProof& proof);

}  // namespace prove
}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_PROVE_FACTS_H_
