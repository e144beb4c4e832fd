/*!
 * The working form of expressions inside the analyzer.
 *
 * An expression is converted into hash-consed nodes, rewritten by the constructors of those nodes,
 * and emitted again. Integer arithmetic is seen over the mathematical integers: a kSum node is an
 * affine form sum(coeff * atom) + base whose value is the value of the original expression, which
 * by the contract of analyzer.h did not overflow. What makes this sound is the rule
 *
 *     every node that can be emitted evaluates without overflow in its dtype
 *
 * kept by MakeSum: an affine form becomes a node only when bounds prove that each partial sum and
 * each product of its emission fits. Otherwise the caller keeps the operands as they were written
 * (a kBinary node), which is safe because the original evaluated them too.
 *
 * Floor division and modulo by constants are one kind, kDigit: (a // div) % mod, with mod == 0 for
 * "no modulo". Digits of one value recombine inside sums: x//4*4 + x%4 is x.
 *
 * Unsigned arithmetic that may wrap is a kSum marked `wraps`: its form holds modulo 2^bits and is
 * opened only by unsigned operations of the same dtype.
 *
 * Facts that hold only inside an arm of a select (or after the left side of an `and`) live in a
 * context; a context has an epoch, and everything cached from facts remembers the epoch it was
 * computed in.
 */
#ifndef TIRX_SRC_ARITH_GRAPH_H_
#define TIRX_SRC_ARITH_GRAPH_H_
#include <tirx/arith/analyzer.h>
#include <tirx/expr/functor.h>
#include <tirx/expr/ops.h>
#include <tirx/support/small_vector.h>

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "interval.h"

namespace tirx {
namespace arith {

/*! |a|; of INT64_MIN, which has no other, itself. */
inline int64_t WrapAbs(int64_t a) {
  return a < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a;
}

using Id = int32_t;
constexpr Id kNone = -1;

struct Term {
  Id atom;
  int64_t coeff;
};
using Terms = SmallVector<Term, 6>;

/*! sum(coeff * atom) + base over the integers, terms in order of first occurrence. */
struct Affine {
  Terms terms;
  int64_t base{0};
  /*! False once a coefficient left int64 or a term that must be evaluated would vanish. */
  bool ok{true};
  /*! Position of each atom in `terms`, kept once there are many. */
  std::unique_ptr<std::unordered_map<Id, int>> index;

  Affine() = default;
  explicit Affine(int64_t b) : base(b) {}
  Affine(const Terms& t, int64_t b) : terms(t), base(b) {}
  Affine(const Affine& o) : terms(o.terms), base(o.base), ok(o.ok) {}
  Affine& operator=(const Affine& o) {
    terms = o.terms, base = o.base, ok = o.ok;
    index.reset();
    return *this;
  }
  void AddBase(int64_t v) { ok = !__builtin_add_overflow(base, v, &base) && ok; }
  bool IsSingle() const { return terms.size() == 1 && terms[0].coeff == 1 && base == 0; }
};

enum class Kind : uint8_t {
  kConst,      // value
  kLeaf,       // origin: a variable, a float or string constant, a load, an unknown node
  kSum,        // terms, base in `value`
  kProduct,    // a * b, both without constant factor
  kDigit,      // (a // value) % value2; value2 == 0: no modulo
  kBinary,     // op(a, b): everything without a better form
  kGE0,        // affine form a >= 0; written as  b op c
  kEQ0,        // affine form a == 0; written as  b op c (op is == or !=, value: 1 for !=)
  kNot,        // not a
  kSelect,     // a ? b : c
  kCast,       // a as dtype, when the value may change
  kRamp,       // a + [0, value) * b
  kBroadcast,  // a, value times
  kCall,       // origin's op applied to terms' atoms
};

/*! The affine form of a comparison: integers of any size, never emitted. */
constexpr DType kInteger{kDLInt, 128, 1};

struct Node {
  Kind kind{Kind::kConst};
  uint8_t op{0};
  bool traps{false};   //!< evaluating it may trap or have an effect: never dropped
  bool unique{false};  //!< two occurrences may differ: never merged
  bool wraps{false};
  bool narrow{false};  //!< kSum: terms of the narrower dtype are added there, then converted
  bool has_fact{false};
  uint8_t fits{0};  //!< kSum: 2 emission proved to fit; 1 given that the total fits
  DType dtype{kInt32};
  Id a{kNone}, b{kNone}, c{kNone};
  int64_t value{0}, value2{0};
  int32_t first_term{0}, num_terms{0};
  int32_t fits_epoch{0}, bound_epoch{0}, modular_epoch{0};
  uint64_t hash{0};
  const PrimExprNode* origin{nullptr};  //!< what it came from: leaf, callee, span
  ConstBound fact{kEverything};
  ModularSet modular_fact{1, 0};
  ConstBound bound{kEverything};
  ModularSet modular{1, 0};
  const PrimExprNode* emitted_hint{nullptr};
  ffi::Optional<PrimExpr> emitted;
};

/*! What is known about a variable; held by the analyzer across calls. */
struct VarFact {
  explicit VarFact(Var v) : var(std::move(v)) {}
  Var var;
  ConstBound bound{kEverything};
  ModularSet modular{1, 0};
  ffi::Optional<PrimExpr> value;  //!< of a pure let
  std::vector<int> relations;     //!< indices into Facts::relations
};

/*! sum(coeff * atom) + base >= 0 */
struct Relation {
  std::vector<std::pair<PrimExpr, int64_t>> terms;
  int64_t base{0};
};

/*! A fact about an expression that is no variable. */
struct AtomFact {
  PrimExpr atom;
  ConstBound bound{kEverything};
  ModularSet modular{1, 0};
};

struct Facts {
  std::unordered_map<const VarNode*, VarFact> vars;
  std::vector<Relation> relations;
  std::vector<AtomFact> atoms;
  bool has_lets{false};
};

/*! Receives what a condition implies (graph-local context, or the analyzer's persistent facts). */
class FactSink {
 public:
  virtual ~FactSink() = default;
  virtual void OnBound(Id atom, ConstBound bound) = 0;
  virtual void OnModular(Id atom, ModularSet modular) = 0;
  virtual void OnNonNegative(const Affine& form) = 0;
};

class Graph {
 public:
  explicit Graph(const Facts* facts) : facts_(facts) {}
  /*! Forgets all nodes. proving: nothing will be emitted, so lets stand for their values, products are
   *  multiplied out, and sums need not fit their dtype. */
  void Reset(bool proving = false);

  // convert.cc
  Id Convert(const PrimExpr& e);
  // emit.cc: hint is the original at this place; returned itself when nothing changed
  PrimExpr Emit(Id id, const PrimExprNode* hint);

  // const_bound.cc, modular.cc
  ConstBound BoundOf(Id id);
  ConstBound BoundOf(const Affine& s);
  ModularSet ModularOf(Id id);
  ModularSet ModularOf(const Affine& s);

  // affine.cc
  void AddTerm(Affine* s, Id atom, int64_t coeff);
  /*! s += k * value of id, opening sums. */
  void AddScaled(Affine* s, Id id, int64_t k) { AddValue(s, id, k, true); }
  void AddAffine(Affine* s, const Affine& other, int64_t k);
  Affine FormOf(Id id);
  /*! A node of dtype t, or kNone when its emission cannot be proved to fit. total_fits: the value
   *  is that of an expression which the program evaluates in t. */
  Id MakeSum(Affine s, DType t, bool total_fits);
  Id MakeWrappingSum(Affine s, DType t);
  /*! The node of a form that is reasoned about but never emitted. */
  Id InternForm(const Affine& s);
  void Recombine(Affine* s);

  // divmod.cc
  Id MakeFloorDiv(Id a, Id b, DType t);
  Id MakeFloorMod(Id a, Id b, DType t);
  Id MakeDigit(Id x, int64_t div, int64_t mod);

  // compare.cc, logic.cc
  Id MakeCompare(BinOp op, Id a, Id b);
  Id MakeNot(Id a);
  Id MakeLogical(BinOp op, Id a, Id b);
  Id MakeSelect(Id cond, Id t, Id f);
  Id MakeMinMax(BinOp op, Id a, Id b);
  Id MakeBits(BinOp op, Id a, Id b, DType t);
  Id MakeShift(BinOp op, Id a, Id b, DType t);
  Id MakeBinaryNode(BinOp op, Id a, Id b, DType result);

  // prove.cc
  /*! True when d >= 0 for every admitted assignment. */
  bool ProveNonNegative(const Affine& d);
  bool ProveEqual(const PrimExpr& a, const PrimExpr& b);
  /*! What follows from `id` being true (or false). */
  void Assume(Id id, bool truth, FactSink* sink);
  /*! Assume(id, true) without a limit on the number of conditions joined by `and`. */
  void AssumeAll(Id id, FactSink* sink) {
    assume_budget_ = INT32_MAX;
    Assume(id, true, sink);
  }

  Id Const(DType t, int64_t v);
  Id True() { return Const(kBool, 1); }
  Id False() { return Const(kBool, 0); }
  const Node& at(Id id) const { return nodes_[id]; }
  const Term* TermsOf(const Node& n) const { return pool_.data() + n.first_term; }
  bool IsConstValue(Id id, int64_t v) const {
    return nodes_[id].kind == Kind::kConst && nodes_[id].value == v;
  }

 private:
  friend class LocalContext;
  struct Converted {
    const PrimExprNode* expr;
    Id id;
    int32_t epoch;
    uint32_t generation;
  };
  Id Intern(Node n, const Term* terms, size_t num_terms);
  Id Append(Node n, const Term* terms, size_t num_terms);
  bool SameKey(const Node& x, const Node& y, const Term* y_terms);
  void Grow();
  bool EpochActive(int32_t epoch) const;

  Converted* FindConverted(const PrimExprNode* e);
  void GrowConverted();
  void AddValue(Affine* s, Id id, int64_t k, bool opened);
  Id SplitBits(BinOp op, Id a, Id b, DType t);
  Id ConvertNew(const PrimExpr& e);
  Id ConvertLeaf(const PrimExpr& e, bool opaque);
  Id ConvertVar(const VarNode* v);
  Id ConvertBinary(const BinaryNode* n, const PrimExpr& e);
  Id ConvertInteger(const BinaryNode* n, const PrimExpr& e);
  Id ConvertLinear(const BinaryNode* n, const PrimExpr& e);
  void Accumulate(const PrimExpr& e, int64_t k, Affine* s);
  bool AccumulateParts(const BinaryNode* n, int64_t k, Affine* s);
  Id ConvertUnsigned(BinOp op, Id a, Id b, DType t);
  Id ConvertDivision(BinOp op, Id a, Id b, DType t);
  Id ConvertLogical(const BinaryNode* n);
  Id ConvertSelect(const SelectNode* n);
  Id ConvertCast(const CastNode* n);
  Id MakeIntCast(Id value, DType t);
  Id MakeOpaqueCast(Id value, DType t);
  Id ConvertCall(const CallNode* n);
  Id ConvertVector(Kind kind, Id a, Id b, int lanes, DType t);
  Id MakeProduct(Id a, Id b, DType t);
  Id Distribute(Id a, Id b, DType t);
  /*! The atoms whose product `id` is. */
  void ProductFactors(Id id, Terms* out) const;
  /*! s = b*quotient + rest for the symbolic divisor b > 0, 0 <= rest < b; false when not proved. */
  bool DivideSymbolic(const Affine& s, Id b, DType t, Affine* quotient, Affine* rest);
  Id WithoutFactors(Id atom, Terms factors, DType t);
  Id MakeMul(Id a, Id b, DType t);
  void AddModuloForm(Affine* s, Id id, int64_t k, DType t);

  ConstBound ComputeBound(const Node& n);
  ConstBound BinaryBound(const Node& n);
  ConstBound DigitBound(const Node& n);
  ModularSet ComputeModular(const Node& n);
  ModularSet BinaryModular(const Node& n);

  static constexpr Id kGroup = -2;
  /*! How a sum is written; see PlanSum. */
  struct Plan {
    Terms parts;  //!< kGroup stands for the terms of `group`, added in their own dtype
    int64_t base{0};
    Terms group;
    int64_t group_base{0};
  };
  Plan PlanSum(const Term* terms, size_t n, int64_t base, DType t, bool narrow) const;
  uint8_t Fits(const Plan& plan, DType t);
  bool ConvertsTo(Id id, DType t);
  ConstBound GroupBound(const Plan& plan);
  bool CanNarrow(const Affine& s, DType t);
  Id FinishSum(const Affine& s, DType t, bool total_fits, bool wraps, bool narrow);
  bool RecombineOnce(Affine* s);
  bool ReplaceWhole(Affine* s, size_t i);

  Id DivideForm(const Affine& s, int64_t c, DType t);
  Id ModuloForm(const Affine& s, int64_t m, DType t);
  bool Quotient(Affine s, int64_t c, DType t, Affine* out);
  bool Remainder(Affine s, int64_t m, DType t, Affine* out);
  bool SplitByFactor(const Affine& r, int64_t c, Affine* high, Affine* low, int64_t* factor);
  bool DigitOf(const Affine& r, int64_t div, int64_t mod, DType t, Affine* out);
  Id NodeOf(const Affine& r, DType t);

  Id FinishCompare(BinOp op, Id a, Id b, Affine d, bool reduced);
  void WriteSides(BinOp op, const Affine& d, DType t, Id* a, Id* b);
  bool OpenDigit(Affine* d, bool equality);
  int Decide(const Affine& d, bool equality);
  bool Traps(const Affine& s) const;

  PrimExpr EmitNew(Id id, const PrimExprNode* hint);
  PrimExpr EmitBinary(BinOp op, Id a, Id b, const PrimExprNode* hint);
  PrimExpr EmitProduct(const Node& n, const PrimExprNode* hint);
  PrimExpr EmitSelect(const Node& n, const PrimExprNode* hint);
  PrimExpr EmitVector(const Node& n, const PrimExprNode* hint);
  PrimExpr EmitCall(const Node& n, const PrimExprNode* hint);
  PrimExpr EmitAs(DType t, Id id, const PrimExprNode* hint);
  PrimExpr EmitDigit(const Node& n, const PrimExprNode* hint);
  PrimExpr EmitStep(BinOp op, int64_t c, DType t, const PrimExprNode* hint,
                    const std::function<PrimExpr(const PrimExprNode*)>& operand);
  PrimExpr EmitSum(Id id, const PrimExprNode* hint);
  PrimExpr EmitPlan(const Plan& plan, DType t, const PrimExprNode* hint);
  PrimExpr EmitFirst(const Plan& plan, Term step, DType t, const PrimExprNode* hint);
  PrimExpr EmitPart(const Plan& plan, Term part, DType t, const PrimExprNode* hint);
  PrimExpr EmitGroup(const Plan& plan, DType t, const PrimExprNode* hint);
  PrimExpr Rebuild(BinOp op, const PrimExpr& a, const PrimExpr& b, const PrimExprNode* hint);

  void LoadRelations();
  void LoadRelation(int i);
  bool ProveWith(const Affine& d, int depth);
  bool ProveWithProducts(const Affine& d);
  void AssumeLet(const VarNode* v, ConstBound b, FactSink* sink);
  void AssumeNonNegative(const Affine& form, FactSink* sink);
  void AssumeBound(Id atom, ConstBound b, FactSink* sink);
  void AssumeZero(const Affine& form, FactSink* sink);
  void AssumeNonZero(const Affine& form, FactSink* sink);
  void AssumeModular(Id x, ModularSet m, FactSink* sink);

  const Facts* facts_;
  bool proving_{false};
  int assume_budget_{0};  // conditions that the current context may still take in
  int let_depth_{0};
  int operand_wise_{0};  // inside a large sum that could not be emitted as one
  std::vector<Node> nodes_;
  std::vector<Term> pool_;
  std::vector<std::pair<int32_t, uint32_t>> table_;  // (id, generation)
  uint32_t generation_{0};
  size_t interned_{0};
  std::vector<Converted> converted_;  // open addressing by pointer
  size_t num_converted_{0};
  std::vector<int32_t> epochs_{0};  // active contexts, innermost last
  int32_t last_epoch_{0};
  std::vector<Affine> relations_;  // forms known to be >= 0 here
  std::vector<int> loaded_;        // indices of the persistent relations among them
  size_t scanned_{0};              // nodes whose relations are loaded
  Span span_;
};

/*! Facts of one arm: assumes `cond` (or its negation) until the end of the scope. */
class LocalContext : public FactSink {
 public:
  LocalContext(Graph* g, Id cond, bool truth);
  ~LocalContext();
  LocalContext(const LocalContext&) = delete;
  LocalContext& operator=(const LocalContext&) = delete;
  void OnBound(Id atom, ConstBound bound) override;
  void OnModular(Id atom, ModularSet modular) override;
  void OnNonNegative(const Affine& form) override;

 private:
  struct Saved {
    Id atom;
    bool has_fact;
    ConstBound fact;
    ModularSet modular_fact;
  };
  Graph* graph_;
  std::vector<Saved> saved_;
  size_t num_relations_, num_loaded_, scanned_;
  bool active_;
};

}  // namespace arith
}  // namespace tirx
#endif  // TIRX_SRC_ARITH_GRAPH_H_
