#include <algorithm>
#include <bit>

#include "facts.h"

namespace tirx {
namespace layout {
namespace prove {

Count::Count(const Extents& extents) {
  for (int64_t n : extents) *this *= static_cast<uint64_t>(n);
}

Count& Count::operator*=(uint64_t factor) {
  unsigned __int128 carry = 0;
  for (uint64_t& limb : limbs_) {
    carry += static_cast<unsigned __int128>(limb) * factor;
    limb = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  if (carry != 0) limbs_.push_back(static_cast<uint64_t>(carry));
  return *this;
}

bool Count::operator<(const Count& o) const {
  if (limbs_.size() != o.limbs_.size()) return limbs_.size() < o.limbs_.size();
  return std::lexicographical_compare(limbs_.rbegin(), limbs_.rend(), o.limbs_.rbegin(),
                                      o.limbs_.rend());
}

int64_t Count::Log2() const {
  bool zeros = std::all_of(limbs_.begin(), limbs_.end() - 1, [](uint64_t l) { return l == 0; });
  if (!zeros || !std::has_single_bit(limbs_.back())) return -1;
  return 64 * (static_cast<int64_t>(limbs_.size()) - 1) + std::countr_zero(limbs_.back());
}

std::string Count::Text() const {
  if (limbs_.size() == 1) return std::to_string(limbs_[0]);
  int64_t bits = 64 * (static_cast<int64_t>(limbs_.size()) - 1) + std::bit_width(limbs_.back());
  return Log2() >= 0 ? "2^" + std::to_string(bits - 1) : "about 2^" + std::to_string(bits - 1);
}

Evidence::Evidence(const IndexDag& dag, LayoutProof proof)
    : dag_(dag), evaluate_(dag), proof_(std::move(proof)) {}

void Evidence::Prove(Fact* fact, const std::string& argument) {
  if (fact->status == Status::kUnknown) *fact = {Status::kProven, argument, {}};
}

void Evidence::Disprove(Fact* fact, const std::string& argument) {
  if (fact->status == Status::kUnknown) *fact = {Status::kDisproven, argument, {}};
}

std::optional<Point> Evidence::ValueAt(const Point& p) {
  Point out(dag_.outputs.size());
  if (!evaluate_(p.data(), out.data())) return std::nullopt;
  return out;
}

bool Evidence::InCodomain(const Point& y) const {
  for (size_t j = 0; j < y.size(); ++j) {
    if (y[j] < 0 || y[j] >= dag_.codomain[j]) return false;
  }
  return true;
}

void Evidence::TryPoint(const Point& p, const std::string& argument) {
  auto value = ValueAt(p);
  Fact* fact = value ? &proof_.bounds : &proof_.total;
  if (fact->status != Status::kUnknown || (value && InCodomain(*value))) return;
  *fact = {Status::kDisproven, value ? argument : evaluate_.fault().reason, {p}};
}

bool Evidence::TryCollision(const Point& p, const Point& q, const std::string& argument) {
  Fact& fact = proof_.injective;
  bool counted = fact.status == Status::kDisproven && fact.witness.empty();
  if (p == q || !(fact.status == Status::kUnknown || counted)) return false;
  auto value = ValueAt(p);
  if (!value || value != ValueAt(q)) return false;
  fact = {Status::kDisproven, counted ? fact.argument : argument, {p, q}};
  return true;
}

void Evidence::Missed(Point y, const std::string& argument) {
  Fact& fact = proof_.surjective;
  bool counted = fact.status == Status::kDisproven && fact.witness.empty();
  if (fact.status == Status::kUnknown || counted) {
    fact = {Status::kDisproven, argument, {std::move(y)}};
  }
}

void Fill(const LayoutProof& more, LayoutProof* proof) {
  auto fill = [](const Fact& from, Fact* to) {
    bool bare = to->status == Status::kDisproven && to->witness.empty() && !from.witness.empty();
    if (to->status == Status::kUnknown || bare) *to = from;
  };
  fill(more.total, &proof->total);
  fill(more.bounds, &proof->bounds);
  fill(more.injective, &proof->injective);
  fill(more.surjective, &proof->surjective);
}

bool Decided(const LayoutProof& p) {
  auto done = [](const Fact& f) {
    return f.status == Status::kProven || (f.status == Status::kDisproven && !f.witness.empty());
  };
  return done(p.total) && done(p.bounds) && done(p.injective) && done(p.surjective);
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
