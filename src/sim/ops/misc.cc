/*!
 * Time, printing, traps, address conversion, single-bit operations; and hints, which do nothing
 * here.
 */
#include <tirx/sim/ops.h>

#include <cstdio>
#include <cstring>

namespace tirx {
namespace sim {
namespace {

void Nothing(Warp&, const OpCall&, int32_t) {}

/*! Instructions executed stand in for cycles: they grow, and differ between two reads. */
void Clock(Warp& w, const OpCall& c, int32_t) {
  uint64_t now = w.m->ticks += 32;
  ForLanes(w.mask, [&](int l) {
    if (c.result.bits == 64) {
      w.Row<uint64_t>(c.dst)[l] = now;
    } else {
      w.Row(c.dst)[l] = static_cast<uint32_t>(now);
    }
  });
}

void NanoSleep(Warp& w, const OpCall&, int32_t) {
  w.stop = true;
  w.spun = true;
}

void Trap(Warp& w, const OpCall&, int32_t loc) {
  Finding f;
  f.code = "trap";
  f.message = "the kernel executed a trap";
  f.loc = loc;
  f.found = WarpName(w) + " " + MaskName(w.mask);
  w.m->Report(std::move(f), true);
}

/*! Address in the shared window: 32 bits. */
void ToShared(Warp& w, const OpCall& c, int32_t) {
  ForLanes(w.mask, [&](int l) {
    w.Row(c.dst)[l] = static_cast<uint32_t>(w.Row<uint64_t>(c.args[0].row)[l]);
  });
}

uint32_t BytePermute(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = a | static_cast<uint64_t>(b) << 32;
  uint32_t out = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t pick = selector >> (4 * i) & 15;
    uint32_t v = static_cast<uint32_t>(bytes >> (8 * (pick & 7))) & 0xff;
    if (pick & 8) v = v & 0x80 ? 0xff : 0;  // replicate the sign
    out |= v << (8 * i);
  }
  return out;
}

void Bits(Warp& w, const OpCall& c, int32_t) {
  std::string fn = StrAttr(c, "fn", "same");
  ForLanes(w.mask, [&](int l) {
    uint32_t a = w.Row(c.args[0].row)[l];
    uint32_t r = a;
    if (fn == "ffs") r = a ? static_cast<uint32_t>(std::countr_zero(a)) + 1 : 0;
    if (fn == "prmt") r = BytePermute(a, w.Row(c.args[1].row)[l], w.Row(c.args[2].row)[l]);
    w.Row(c.dst)[l] = r;
  });
}

std::string FormatOne(const std::string& spec, Warp& w, const Operand& o, int lane) {
  char text[64] = {};
  if (IsFloat(o.dtype)) {
    double v = o.dtype.bits == 64 ? w.Row<double>(o.row)[lane]
                                  : static_cast<double>(w.Row<float>(o.row)[lane]);
    std::snprintf(text, sizeof text, spec.c_str(), v);
    return text;
  }
  // One integer width for all: drop the length letters and use ll.
  std::string bare;
  for (char ch : spec) bare += std::strchr("hlz", ch) ? "" : std::string(1, ch);
  std::string wide = bare.substr(0, bare.size() - 1) + "ll" + bare.back();
  long long v = o.dtype.bits == 64  ? w.Row<int64_t>(o.row)[lane]
                : IsSigned(o.dtype) ? static_cast<long long>(w.Row<int32_t>(o.row)[lane])
                                    : static_cast<long long>(w.Row(o.row)[lane]);
  std::snprintf(text, sizeof text, wide.c_str(), v);
  return text;
}

/*! The format's text with %d, %u, %x, %f, %e, %g conversions replaced; %% is a percent sign. */
std::string Format(Warp& w, const OpCall& c, int lane) {
  const std::string& f = c.args[0].str;
  std::string out;
  size_t next = 1;
  for (size_t i = 0; i < f.size(); ++i) {
    if (f[i] != '%') {
      out += f[i];
      continue;
    }
    size_t end = f.find_first_of("diuxXfFeEgGcp%", i + 1);
    if (end == std::string::npos) break;
    if (f[end] == '%') {
      out += '%';
    } else if (next < c.args.size()) {
      out += FormatOne(f.substr(i, end - i + 1), w, c.args[next++], lane);
    }
    i = end;
  }
  return out;
}

void Print(Warp& w, const OpCall& c, int32_t) {
  constexpr size_t kMaxText = 1 << 20;  // the device's default printf buffer
  ForLanes(w.mask, [&](int l) {
    if (w.m->printed.size() < kMaxText) w.m->printed += Format(w, c, l);
  });
}

const RegisterMeanings kMisc({
    {"prefetch", Kind::kOther, &Nothing},
    {"setmaxnreg", Kind::kOther, &Nothing},
    {"griddepcontrol", Kind::kOther, &Nothing},
    {"clock", Kind::kOther, &Clock, nullptr, true},
    {"nanosleep", Kind::kOther, &NanoSleep},
    {"trap", Kind::kOther, &Trap},
    {"cvta", Kind::kInt, &ToShared},
    {"bits", Kind::kInt, &Bits},
    {"printf", Kind::kOther, &Print, nullptr, true},
});

}  // namespace
}  // namespace sim
}  // namespace tirx
