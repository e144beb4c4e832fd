#include "graph.h"

#include <string_view>

namespace tirx {
namespace arith {
namespace {

uint64_t Mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdull;
}

uint64_t HashDType(DType t) {
  return (uint64_t{t.code} << 32) | (uint64_t{t.bits} << 16) | t.lanes;
}

std::string_view OpName(const Node& n) {
  const ffi::String& op = static_cast<const CallNode*>(n.origin)->op;
  return {op.data(), op.size()};
}

/*! Sums hash independently of the order of their terms; argument lists do not. */
uint64_t HashTerms(Kind kind, const Term* terms, size_t n) {
  uint64_t h = n;
  for (size_t i = 0; i < n; ++i) {
    uint64_t t = Mix(terms[i].atom * 2654435761u, static_cast<uint64_t>(terms[i].coeff));
    h = kind == Kind::kSum ? h + t : Mix(h, t);
  }
  return h;
}

uint64_t HashNode(const Node& n, const Term* terms, size_t count) {
  uint64_t h = Mix(HashDType(n.dtype),
                   (uint64_t(n.kind) << 16) | (uint64_t{n.op} << 8) | (n.wraps << 1) | n.narrow);
  h = Mix(h, (uint64_t(uint32_t(n.a)) << 32) | uint32_t(n.b));
  h = Mix(h, static_cast<uint64_t>(n.value) + 31 * static_cast<uint64_t>(n.value2) + n.c);
  if (n.kind == Kind::kLeaf) h = Mix(h, reinterpret_cast<uintptr_t>(n.origin));
  if (n.kind == Kind::kCall) h = Mix(h, std::hash<std::string_view>()(OpName(n)));
  return Mix(h, HashTerms(n.kind, terms, count));
}

bool SameTermSet(const Term* x, const Term* y, size_t n) {
  if (std::equal(x, x + n, y, [](const Term& s, const Term& t) {
        return s.atom == t.atom && s.coeff == t.coeff;
      })) {
    return true;
  }
  auto sorted = [n](const Term* t) {
    std::vector<Term> out(t, t + n);
    std::sort(out.begin(), out.end(), [](Term a, Term b) { return a.atom < b.atom; });
    return out;
  };
  std::vector<Term> sx = sorted(x), sy = sorted(y);
  return std::equal(sx.begin(), sx.end(), sy.begin(), [](const Term& s, const Term& t) {
    return s.atom == t.atom && s.coeff == t.coeff;
  });
}

}  // namespace

void Graph::Reset(bool proving) {
  proving_ = proving;
  nodes_.clear();
  pool_.clear();
  relations_.clear();
  loaded_.clear();
  scanned_ = 0;
  num_converted_ = 0;
  epochs_.assign(1, 0);
  last_epoch_ = 0;
  interned_ = 0;
  if (table_.empty()) {
    table_.assign(128, {kNone, 0});
    converted_.assign(128, {});
  }
  ++generation_;
  for (const AtomFact& f : facts_->atoms) {
    Id id = Convert(f.atom);
    if (nodes_[id].kind == Kind::kConst) continue;
    nodes_[id].has_fact = true;
    nodes_[id].fact = Intersect(nodes_[id].fact, f.bound);
    if (f.modular.coeff != 1) nodes_[id].modular_fact = f.modular;
  }
  epochs_[0] = ++last_epoch_;  // bounds cached before a fact was seen are stale
}

bool Graph::EpochActive(int32_t epoch) const {
  return std::find(epochs_.begin(), epochs_.end(), epoch) != epochs_.end();
}

bool Graph::SameKey(const Node& x, const Node& y, const Term* y_terms) {
  if (x.hash != y.hash || x.kind != y.kind || x.op != y.op || !(x.dtype == y.dtype) || x.a != y.a ||
      x.b != y.b || x.c != y.c || x.value != y.value || x.value2 != y.value2 ||
      x.wraps != y.wraps || x.narrow != y.narrow || x.num_terms != y.num_terms) {
    return false;
  }
  if (x.kind == Kind::kLeaf) return x.origin == y.origin;
  if (x.kind == Kind::kCall && OpName(x) != OpName(y)) return false;
  if (x.kind == Kind::kSum) return SameTermSet(TermsOf(x), y_terms, x.num_terms);
  return std::equal(TermsOf(x), TermsOf(x) + x.num_terms, y_terms,
                    [](const Term& s, const Term& t) { return s.atom == t.atom; });
}

Id Graph::Append(Node n, const Term* terms, size_t num_terms) {
  n.first_term = static_cast<int32_t>(pool_.size());
  n.num_terms = static_cast<int32_t>(num_terms);
  pool_.insert(pool_.end(), terms, terms + num_terms);
  n.bound_epoch = n.modular_epoch = n.fits_epoch = -1;
  nodes_.push_back(std::move(n));
  return static_cast<Id>(nodes_.size()) - 1;
}

void Graph::Grow() {
  std::vector<std::pair<int32_t, uint32_t>> old(table_.size() * 4, {kNone, 0});
  old.swap(table_);
  for (auto [id, generation] : old) {
    if (generation != generation_) continue;
    size_t i = nodes_[id].hash & (table_.size() - 1);
    while (table_[i].second == generation_) i = (i + 1) & (table_.size() - 1);
    table_[i] = {id, generation_};
  }
}

Id Graph::Intern(Node n, const Term* terms, size_t num_terms) {
  if (n.unique) return Append(std::move(n), terms, num_terms);
  n.hash = HashNode(n, terms, num_terms);
  n.num_terms = static_cast<int32_t>(num_terms);
  if (2 * (interned_ + 1) > table_.size()) Grow();
  size_t i = n.hash & (table_.size() - 1);
  for (; table_[i].second == generation_; i = (i + 1) & (table_.size() - 1)) {
    if (SameKey(nodes_[table_[i].first], n, terms)) return table_[i].first;
  }
  ++interned_;
  Id id = Append(std::move(n), terms, num_terms);
  table_[i] = {id, generation_};
  return id;
}

Id Graph::Const(DType t, int64_t v) {
  Node n;
  n.kind = Kind::kConst;
  n.dtype = t;
  n.value = v;
  return Intern(std::move(n), nullptr, 0);
}

}  // namespace arith
}  // namespace tirx
