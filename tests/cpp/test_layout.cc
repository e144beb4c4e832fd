// The layout algebra against a few lines of plain arithmetic, exhaustively on small layouts.
#include <gtest/gtest.h>
#include <tirx/expr/ops.h>
#include <tirx/layout/ops.h>
#include <tvm/ffi/extra/structural_equal.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tirx {
namespace {

// Coordinates on m, laneid, warpid.
using Place = std::array<int64_t, 3>;
using Places = std::set<Place>;
const char* const kAxes[] = {"m", "laneid", "warpid"};

struct PlainIter {
  int64_t extent, stride;
  int axis;
};
struct Plain {
  std::vector<PlainIter> shard, replica;
  Place offset{};
};

ffi::Array<Iter> ToIters(const std::vector<PlainIter>& list) {
  ffi::Array<Iter> out;
  for (const PlainIter& it : list) out.push_back(Iter(it.extent, it.stride, kAxes[it.axis]));
  return out;
}

TileLayout ToLayout(const Plain& p) {
  ffi::Map<ffi::String, PrimExpr> offset;
  for (int a = 0; a < 3; ++a) offset.Set(kAxes[a], p.offset[a]);
  return TileLayout(ToIters(p.shard), ToIters(p.replica), offset);
}

int AxisIndex(const ffi::String& name) {
  for (int a = 0; a < 3; ++a) {
    if (name == kAxes[a]) return a;
  }
  ADD_FAILURE() << "unexpected axis " << std::string(name);
  return 0;
}

Plain FromLayout(const TileLayout& l) {
  auto read = [](const ffi::Array<Iter>& list) {
    std::vector<PlainIter> out;
    for (const Iter& it : list) {
      out.push_back({*AsInt(it->extent), *AsInt(it->stride), AxisIndex(it->axis)});
    }
    return out;
  };
  Plain p{read(l->shard), read(l->replica), {}};
  for (const auto& [axis, value] : l->offset) p.offset[AxisIndex(axis)] = *AsInt(value);
  return p;
}

int64_t SizeOf(const Plain& p) {
  int64_t n = 1;
  for (const PlainIter& it : p.shard) n *= it.extent;
  return n;
}

// The definition: all places of every linear index.
std::vector<Places> Evaluate(const Plain& p) {
  std::vector<Places> out;
  for (int64_t x = 0; x < SizeOf(p); ++x) {
    Place at = p.offset;
    int64_t rest = x;
    for (size_t i = p.shard.size(); i-- > 0;) {
      at[p.shard[i].axis] += rest % p.shard[i].extent * p.shard[i].stride;
      rest /= p.shard[i].extent;
    }
    Places places{at};
    for (const PlainIter& r : p.replica) {
      Places more;
      for (Place q : places) {
        for (int64_t k = 0; k < r.extent; ++k, q[r.axis] += r.stride) more.insert(q);
      }
      places = more;
    }
    out.push_back(places);
  }
  return out;
}
std::vector<Places> Evaluate(const Layout& l) { return Evaluate(FromLayout(layout::TileOf(l))); }

// Every list of `count` iters over the given extents and strides.
std::vector<std::vector<PlainIter>> AllShards(size_t count, const std::vector<int64_t>& extents,
                                              const std::vector<std::pair<int64_t, int>>& strides) {
  std::vector<std::vector<PlainIter>> out{{}};
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::vector<PlainIter>> longer;
    for (const auto& list : out) {
      for (int64_t e : extents) {
        for (auto [s, a] : strides) {
          longer.push_back(list);
          longer.back().push_back({e, s, a});
        }
      }
    }
    out = std::move(longer);
  }
  return out;
}

std::string CodeOf(const ffi::Error& e) {
  std::string text = e.what();
  size_t at = text.find("\"code\":\"") + 8;
  return text.substr(at, text.find('"', at) - at);
}

template <typename F>
std::string Refusal(F f) {
  try {
    f();
  } catch (const ffi::Error& e) {
    return CodeOf(e);
  }
  return "";
}

TEST(LayoutCanonical, EqualPlacementsGiveEqualObjects) {
  std::map<std::vector<Places>, Layout> forms;
  std::vector<std::pair<int64_t, int>> strides{{0, 0}, {1, 0},  {2, 0}, {3, 0},
                                               {6, 0}, {-1, 0}, {1, 1}};
  for (const auto& shard : AllShards(3, {1, 2, 3}, strides)) {
    Plain p{shard, {}, {}};
    std::vector<Places> places = Evaluate(p);
    Layout form = layout::Canonicalize(ToLayout(p));
    ASSERT_EQ(Evaluate(form), places) << layout::LayoutText(ToLayout(p));
    auto [it, fresh] = forms.emplace(places, form);
    ASSERT_TRUE(ffi::StructuralEqual::Equal(it->second, form)) << layout::LayoutText(form);
  }
  EXPECT_GT(forms.size(), 1000u);
}

TEST(LayoutCanonical, ReplicaSetsHaveOneForm) {
  std::map<std::vector<Places>, Layout> forms;
  std::vector<std::pair<int64_t, int>> strides{{1, 0}, {2, 0}, {3, 0}, {-2, 0}, {5, 0}, {1, 2}};
  for (const auto& replica : AllShards(3, {2, 3}, strides)) {
    Plain p{{{2, 100, 0}}, replica, {}};
    std::vector<Places> places = Evaluate(p);
    Layout form = layout::Canonicalize(ToLayout(p));
    ASSERT_EQ(Evaluate(form), places);
    auto [it, fresh] = forms.emplace(places, form);
    ASSERT_TRUE(ffi::StructuralEqual::Equal(it->second, form)) << layout::LayoutText(form);
  }
}

TEST(LayoutGroup, SplitsWheneverDigitsSeparate) {
  for (const auto& shard : AllShards(2, {2, 3, 4, 6}, {{1, 0}, {2, 0}, {4, 0}, {6, 0}, {1, 1}})) {
    Plain p{shard, {}, {}};
    std::vector<Places> places = Evaluate(p);
    int64_t n = SizeOf(p);
    for (int64_t inner = 1; inner <= n; ++inner) {
      if (n % inner) continue;
      bool separate = true;
      for (int64_t x = 0; x < n; ++x) {
        for (int a = 0; a < 3; ++a) {
          int64_t low = (*places[x % inner].begin())[a], high = (*places[x - x % inner].begin())[a];
          separate = separate && (*places[x].begin())[a] == low + high;
        }
      }
      layout::Shape shape{n / inner, inner};
      std::string code =
          Refusal([&] { ASSERT_EQ(Evaluate(layout::Group(ToLayout(p), shape).layout), places); });
      ASSERT_EQ(code.empty(), separate) << layout::LayoutText(ToLayout(p)) << " by " << inner;
    }
  }
}

// Whether values are a constant plus a mixed-radix map, by trying every factor.
bool IsMixedRadix(std::vector<Place> v) {
  size_t n = v.size();
  if (n == 1) return true;
  Place unit{};
  int moving = 0;
  for (int a = 0; a < 3; ++a) moving += (unit[a] = v[1][a] - v[0][a]) != 0;
  if (moving > 1) return false;
  for (size_t e = 2; e <= n; ++e) {
    if (n % e) continue;
    bool fits = true;
    std::vector<Place> outer;
    for (size_t y = 0; y < n; ++y) {
      if (y % e == 0) outer.push_back(v[y]);
      for (int a = 0; a < 3; ++a) {
        fits = fits && v[y][a] == v[y - y % e][a] + static_cast<int64_t>(y % e) * unit[a];
      }
    }
    if (fits && IsMixedRadix(outer)) return true;
  }
  return false;
}

TEST(LayoutSlice, ExactOrNoLayoutExists) {
  int64_t refused = 0;
  for (const auto& shard : AllShards(3, {2, 3}, {{1, 0}, {2, 0}, {3, 0}, {7, 0}, {1, 1}})) {
    Plain p{shard, {}, {}};
    std::vector<Places> places = Evaluate(p);
    int64_t n = SizeOf(p);
    for (int64_t b = 0; b < n; b += 2) {
      for (int64_t len = 1; b + len <= n; len += 1 + len / 4) {
        std::vector<Places> want(places.begin() + b, places.begin() + b + len);
        std::string code = Refusal([&] {
          Layout got = layout::Slice(ToLayout(p), {n}, {Range(b, len)});
          ASSERT_EQ(Evaluate(got), want) << layout::LayoutText(ToLayout(p)) << " from " << b;
        });
        if (code.empty()) continue;
        ++refused;
        ASSERT_EQ(code, "slice-not-a-layout");
        std::vector<Place> line;
        for (const Places& q : want) line.push_back(*q.begin());
        ASSERT_FALSE(IsMixedRadix(line))
            << layout::LayoutText(ToLayout(p)) << " from " << b << " +" << len;
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(LayoutTile, TilesAndUndoes) {
  std::vector<std::pair<int64_t, int>> strides{{1, 0}, {2, 0}, {1, 1}};
  std::vector<std::vector<PlainIter>> replicas{{}, {{2, 1, 2}}, {{2, 3, 0}}};
  for (const auto& outer : AllShards(2, {1, 2}, strides)) {
    for (const auto& inner : AllShards(1, {1, 2, 3}, strides)) {
      for (const auto& ro : replicas) {
        for (const auto& ri : replicas) {
          Plain o{outer, ro, {1, 0, 2}}, i{inner, ri, {0, 1, 0}};
          layout::Shape os{SizeOf(o)}, is{SizeOf(i)}, ts{SizeOf(o) * SizeOf(i)};
          Layout t = layout::Tile(ToLayout(i), ToLayout(o), os, is);
          auto po = Evaluate(o), pi = Evaluate(i), pt = Evaluate(t);
          Place span;
          for (int a = 0; a < 3; ++a) span[a] = *AsInt(layout::Span(ToLayout(i), kAxes[a]));
          for (size_t x = 0; x < pt.size(); ++x) {
            Places want;
            for (Place p : po[x / pi.size()]) {
              for (Place q : pi[x % pi.size()]) {
                for (int a = 0; a < 3; ++a) q[a] += p[a] * span[a];
                want.insert(q);
              }
            }
            ASSERT_EQ(pt[x], want);
          }
          auto back = layout::TileOuterOf(t, ToLayout(i), ts, is);
          ASSERT_TRUE(back.has_value()) << layout::LayoutText(t);
          ASSERT_FALSE(layout::FirstDifference(layout::Tile(ToLayout(i), *back, os, is), t));
          auto in = layout::TileInnerOf(t, ToLayout(o), ts, os);
          ASSERT_TRUE(in.has_value()) << layout::LayoutText(t);
          ASSERT_FALSE(layout::FirstDifference(layout::Tile(*in, ToLayout(o), os, is), t));
        }
      }
    }
  }
}

TEST(LayoutDifference, WitnessIsTheFirst) {
  auto all = AllShards(2, {2, 3}, {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 1}});
  for (const auto& a : all) {
    for (const auto& b : all) {
      Plain pa{a, {}, {}}, pb{b, {}, {}};
      auto va = Evaluate(pa), vb = Evaluate(pb);
      auto d = layout::FirstDifference(ToLayout(pa), ToLayout(pb));
      if (va.size() != vb.size()) {
        ASSERT_TRUE(d && d->kind == "size");
        continue;
      }
      size_t x = 0;
      while (x < va.size() && va[x] == vb[x]) ++x;
      ASSERT_EQ(d.has_value(), x < va.size());
      if (d) {
        ASSERT_EQ(d->index, static_cast<int64_t>(x));
      }
    }
  }
}

TEST(LayoutAxes, UnknownNamesAreRefused) {
  EXPECT_EQ(Refusal([] { FindAxis(std::string_view("lane")); }), "unknown-axis");
  EXPECT_EQ(Refusal([] { RegisterAxis({"laneid", true, 64, "", "warp", "thread"}); }),
            "axis-conflict");
  AxisId id = RegisterAxis({"test_axis", false, 7, "hardware", "", ""});
  EXPECT_EQ(FindAxis(std::string_view("test_axis")), id);
  EXPECT_EQ(RegisterAxis({"test_axis", false, 7, "hardware", "", ""}), id);
}

}  // namespace
}  // namespace tirx
