#include "form.h"

#include <tirx/support/diag.h>

namespace tirx {
namespace layout {
namespace {

std::vector<Step> ReadSteps(const ffi::Array<Iter>& iters) {
  std::vector<Step> out;
  out.reserve(iters.size());
  for (const Iter& it : iters) {
    out.push_back({Num(it->extent), Num(it->stride), FindAxis(it->axis)});
  }
  return out;
}

ffi::Array<Iter> WriteSteps(const std::vector<Step>& steps) {
  ffi::Array<Iter> out;
  out.reserve(static_cast<int64_t>(steps.size()));
  for (const Step& s : steps)
    out.push_back(Iter(s.extent.expr(), s.stride.expr(), GetAxis(s.axis).name));
  return out;
}

bool AllConst(const std::vector<Step>& steps) {
  for (const Step& s : steps) {
    if (!s.extent.IsConst() || !s.stride.IsConst()) return false;
  }
  return true;
}

}  // namespace

Form Form::Of(const TileLayout& layout) {
  Form f{ReadSteps(layout->shard), ReadSteps(layout->replica), {}};
  for (const auto& [name, value] : layout->offset) {
    f.AddOffset(FindAxis(name), Num(value));
  }
  return f;
}

TileLayout Form::ToLayout() const {
  ffi::Map<ffi::String, PrimExpr> off;
  for (const auto& [axis, value] : offset) off.Set(GetAxis(axis).name, value.expr());
  return TileLayout(WriteSteps(shard), WriteSteps(replica), off);
}

Num Form::Size() const { return Product(shard); }

Num Form::OffsetOn(AxisId axis) const {
  for (const auto& [a, value] : offset) {
    if (a == axis) return value;
  }
  return 0;
}

void Form::AddOffset(AxisId axis, const Num& value) {
  if (value.Is(0)) return;
  for (auto it = offset.begin(); it != offset.end(); ++it) {
    if (it->first != axis) continue;
    it->second = it->second + value;
    if (it->second.Is(0)) offset.erase(it);
    return;
  }
  offset.emplace_back(axis, value);
}

bool Form::IsStatic() const {
  for (const auto& entry : offset) {
    if (!entry.second.IsConst()) return false;
  }
  return AllConst(shard) && AllConst(replica);
}

Num Product(const std::vector<Num>& list) {
  Num out = 1;
  for (const Num& n : list) out = out * n;
  return out;
}

Num Product(const std::vector<Step>& steps) {
  Num out = 1;
  for (const Step& s : steps) out = out * s.extent;
  return out;
}

void CheckExtents(const std::vector<Num>& shape) {
  for (const Num& n : shape) {
    if (!n.IsConst() || n.value() >= 1) continue;
    Diag("layout", "bad-extent", {})
        .Message("an extent must be positive")
        .Found(std::to_string(n.value()) + " in " + Text(shape))
        .Required("extents of 1 or more")
        .Throw();
  }
}

std::vector<Num> ToNums(const ffi::Array<PrimExpr>& list) {
  std::vector<Num> out;
  out.reserve(list.size());
  for (const PrimExpr& e : list) out.emplace_back(e);
  return out;
}

}  // namespace layout
}  // namespace tirx
