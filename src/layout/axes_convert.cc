/*!
 * One resource under two numberings: tid_in_wg = 32 * wid_in_wg + laneid and the like.
 *
 * Fusing into the whole scales strides, and is exact when the fine coordinate stays in its range.
 * Splitting the whole writes each iter as a coarse and a fine one; it is exact when the fine parts
 * of iters, replicas and offset together never carry.
 */
#include <tirx/support/diag.h>

#include <algorithm>
#include <set>

#include "steps.h"

namespace tirx {
namespace layout {
namespace {

using AxisSet = std::set<AxisId>;

[[noreturn]] void ThrowNotConvertible(AxisId axis, const std::string& why) {
  Diag("layout", "axis-not-convertible", {})
      .Message("the layout has no exact form on the wanted axes")
      .Found(GetAxis(axis).name + ": " + why)
      .Required("coordinates that the axis identities rewrite without a carry")
      .Throw();
}

AxisSet Mentioned(const Form& f) {
  AxisSet out;
  for (const Step& s : f.shard) {
    if (!s.extent.Is(1)) out.insert(s.axis);
  }
  for (const Step& s : f.replica) out.insert(s.axis);
  for (const auto& entry : f.offset) out.insert(entry.first);
  return out;
}

/*! 0 <= coordinate < limit for every element and replica. */
bool StaysBelow(const Form& f, AxisId axis, int64_t limit, Prover& prover) {
  Num low = f.OffsetOn(axis), high = low;
  for (const auto* list : {&f.shard, &f.replica}) {
    for (const Step& s : *list) {
      if (s.axis != axis) continue;
      Num reach = s.stride * (s.extent - 1);
      bool negative = reach.IsConst() && reach.value() < 0;
      (negative ? low : high) = (negative ? low : high) + reach;
    }
  }
  return prover.LessEqual(0, low) && prover.LessEqual(high, limit - 1);
}

class Converter {
 public:
  Converter(Form form, AxisSet target, Prover& prover)
      : form_(std::move(form)), target_(std::move(target)), prover_(prover) {}

  Form Run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (AxisId axis : Mentioned(form_)) changed = changed || ConvertOnce(axis);
    }
    return form_;
  }

 private:
  bool ConvertOnce(AxisId axis) {
    if (target_.count(axis) || !GetAxis(axis).is_thread) return false;
    bool known = false;
    for (const AxisIdentity& id : identities_) {
      bool part = id.fine == axis || id.coarse == axis;
      known = known || part || id.whole == axis;
      if (part && ReachesUp(id.whole)) return Fuse(axis, id);
    }
    for (const AxisIdentity& id : identities_) {
      if (id.whole == axis && ReachesDown(id.coarse) && ReachesDown(id.fine)) return Split(id);
    }
    if (known) ThrowNotConvertible(axis, "no identity leads to the wanted axes");
    return false;
  }
  bool ReachesUp(AxisId axis) const {
    if (target_.count(axis)) return true;
    return std::any_of(identities_.begin(), identities_.end(), [&](const AxisIdentity& id) {
      return (id.fine == axis || id.coarse == axis) && ReachesUp(id.whole);
    });
  }
  bool ReachesDown(AxisId axis) const {
    if (target_.count(axis)) return true;
    return std::any_of(identities_.begin(), identities_.end(), [&](const AxisIdentity& id) {
      return id.whole == axis && ReachesDown(id.coarse) && ReachesDown(id.fine);
    });
  }

  void CheckUnnamed(AxisId axis, AxisId other) {
    if (Mentioned(form_).count(other)) {
      ThrowNotConvertible(axis, "the layout also names " + GetAxis(other).name);
    }
  }

  bool Fuse(AxisId axis, const AxisIdentity& id) {
    int64_t limit = axis == id.fine ? id.factor : GetAxis(axis).extent;
    if (limit != 0 && !StaysBelow(form_, axis, limit, prover_)) {
      ThrowNotConvertible(axis, "its coordinates leave 0.." + std::to_string(limit - 1));
    }
    AxisId other = axis == id.fine ? id.coarse : id.fine;
    if (!fused_.count({other, id.whole})) CheckUnnamed(axis, id.whole);
    fused_.insert({axis, id.whole});
    Num scale = axis == id.coarse ? id.factor : 1;
    for (auto* list : {&form_.shard, &form_.replica}) {
      for (Step& s : *list) {
        if (s.axis == axis) s = {s.extent, s.stride * scale, id.whole};
      }
    }
    Num offset = form_.OffsetOn(axis);
    form_.AddOffset(axis, Num(0) - offset);
    form_.AddOffset(id.whole, offset * scale);
    return true;
  }

  bool Split(const AxisIdentity& id) {
    CheckUnnamed(id.whole, id.coarse);
    CheckUnnamed(id.whole, id.fine);
    form_.shard = SplitSteps(form_.shard, id);
    form_.replica = SplitSteps(form_.replica, id);
    Num offset = form_.OffsetOn(id.whole);
    form_.AddOffset(id.whole, Num(0) - offset);
    form_.AddOffset(id.coarse, prover_.Div(offset, id.factor));
    form_.AddOffset(id.fine, prover_.Mod(offset, id.factor));
    if (!StaysBelow(form_, id.fine, id.factor, prover_)) {
      ThrowNotConvertible(id.whole, "the " + GetAxis(id.fine).name + " part would carry");
    }
    int64_t limit = GetAxis(id.coarse).extent;
    if (limit != 0 && !StaysBelow(form_, id.coarse, limit, prover_)) {
      ThrowNotConvertible(id.whole, "it exceeds " + GetAxis(id.coarse).name);
    }
    return true;
  }
  std::vector<Step> SplitSteps(const std::vector<Step>& steps, const AxisIdentity& id) {
    std::vector<Step> out;
    for (const Step& s : steps) {
      if (s.axis == id.whole && !s.extent.Is(1)) {
        SplitStep(s, id, &out);
      } else {
        out.push_back(s.axis == id.whole ? Step{1, 0, kMemoryAxis} : s);
      }
    }
    return out;
  }
  void SplitStep(const Step& s, const AxisIdentity& id, std::vector<Step>* out) {
    Num k = id.factor;
    if (prover_.Divides(k, s.stride)) {
      out->push_back({s.extent, prover_.Div(s.stride, k), id.coarse});
    } else if (prover_.LessEqual(s.stride * (s.extent - 1) + 1, k)) {
      out->push_back({s.extent, s.stride, id.fine});
    } else {
      SplitAcross(s, id, out);
    }
  }
  void SplitAcross(const Step& s, const AxisIdentity& id, std::vector<Step>* out) {
    Num k = id.factor;
    bool ok = prover_.LessEqual(1, s.stride) && prover_.Divides(s.stride, k);
    Num per = ok ? prover_.Div(k, s.stride) : Num(1);
    if (!ok || !prover_.Divides(per, s.extent)) {
      ThrowNotConvertible(id.whole, "iter " + Text(s) + " does not split at " + Text(k));
    }
    out->push_back({prover_.Div(s.extent, per), 1, id.coarse});
    out->push_back({per, s.stride, id.fine});
  }

  Form form_;
  AxisSet target_;
  Prover& prover_;
  std::set<std::pair<AxisId, AxisId>> fused_;
  std::vector<AxisIdentity> identities_{AxisIdentities()};
};

}  // namespace

Layout ConvertAxes(const Layout& layout, const ffi::Array<ffi::String>& axes, Facts facts) {
  AxisSet target;
  for (const ffi::String& name : axes) target.insert(FindAxis(name));
  return OnTile(layout, [&](Form f) {
    Prover prover(facts);
    return Converter(std::move(f), target, prover).Run();
  });
}

}  // namespace layout
}  // namespace tirx
