/*!
 * Loads and stores: addresses, range and alignment checks, and the movement of elements.
 */
#include <tirx/sim/access.h>
#include <tirx/sim/machine.h>

#include <algorithm>
#include <cstring>

namespace tirx {
namespace sim {
namespace {

/*! Element indices of all lanes. */
void Indices(Warp& w, const Ins& i, int64_t* e) {
  switch (i.idx) {
    case kIdxImm: std::fill_n(e, kLanes, int64_t{i.a}); return;
    case kIdxScalar: std::fill_n(e, kLanes, w.s[i.a]); return;
    case kIdx32: std::copy_n(w.Row<int32_t>(i.a), kLanes, e); return;
    default: std::copy_n(w.Row<int64_t>(i.a), kLanes, e); return;
  }
}

/*! Lanes of mask whose e is outside [lo, hi]. */
uint32_t Outside(uint32_t mask, const int64_t* e, int64_t lo, int64_t hi) {
  uint32_t bad = 0;
  for (int l = 0; l < kLanes; ++l) bad |= static_cast<uint32_t>(e[l] < lo || e[l] > hi) << l;
  return bad & mask;
}

const char* Verb(bool write) { return write ? "store" : "load"; }

void ReportIndex(Warp& w, const Ins& i, const MemRef& r, bool write, uint32_t bad,
                 const int64_t* e) {
  int lane = std::countr_zero(bad);
  int64_t last = r.first + r.extent - i.n;
  Finding f;
  f.code = "out-of-bounds";
  f.message = std::string(Verb(write)) + " outside buffer " + r.name;
  f.loc = i.loc;
  f.found = "index " + std::to_string(e[lane] - r.first) +
            (i.n > 1 ? " of " + std::to_string(i.n) + " elements" : "") + " by " +
            LaneName(w, lane) + " (" + MaskName(bad) + " are outside)";
  f.required = "0 <= index <= " + std::to_string(last - r.first) + ": the buffer has " +
               std::to_string(r.extent) + " elements";
  f.hint = "guard the access with the bound of the loop or of the tile";
  w.m->Report(std::move(f));
}

void ReportFault(Warp& w, int32_t loc, const std::string& what, const std::string& found,
                 const std::string& required) {
  Finding f;
  f.code = what;
  f.message = what == "misaligned-access" ? "misaligned vector access"
                                          : "access to memory that is not allocated";
  f.loc = loc;
  f.found = found;
  f.required = required;
  w.m->Report(std::move(f), what != "misaligned-access");
}

void CheckAlignment(Warp& w, int32_t loc, const char* name, Access* a) {
  uint64_t align = static_cast<uint64_t>(a->bytes & -a->bytes), any = 0;
  for (int l = 0; l < kLanes; ++l) any |= a->mask >> l & 1 ? a->addr[l] : 0;
  if (!(any & (align - 1))) return;
  uint32_t bad = 0;
  ForLanes(a->mask,
           [&](int l) { bad |= static_cast<uint32_t>((a->addr[l] & (align - 1)) != 0) << l; });
  int lane = std::countr_zero(bad);
  ReportFault(w, loc, "misaligned-access",
              std::string(Verb(a->write)) + " of " + std::to_string(a->bytes) + " bytes of " +
                  name + " at byte address " + std::to_string(a->addr[lane] & kOffsetMask) +
                  " by " + LaneName(w, lane) + " (" + MaskName(bad) + ")",
              "an address that is a multiple of " + std::to_string(align));
  a->mask &= ~bad;
}

void LocateGlobal(Warp& w, const Ins& i, const MemRef& r, const int64_t* e, Access* a) {
  Segment& seg = w.m->segments[r.param];
  uint64_t base = ((kFirstGlobalSegment + r.param) << kSegmentShift) + seg.skew;
  int64_t hi = seg.bytes * 8 / r.bits - i.n;
  if (uint32_t bad = Outside(a->mask, e, 0, hi)) {
    int lane = std::countr_zero(bad);
    ReportFault(w, i.loc, "illegal-address",
                std::string(Verb(a->write)) + " at element " + std::to_string(e[lane]) + " of " +
                    seg.name + " by " + LaneName(w, lane),
                "an address inside an allocation; " + seg.name + " has " +
                    std::to_string(seg.bytes) + " bytes");
    a->mask &= ~bad;
  }
  for (int l = 0; l < kLanes; ++l) {
    int64_t off = e[l] * r.bits >> 3;
    a->addr[l] = base + off;
    a->p[l] = seg.host + off;
  }
  if (seg.sparse) ForLanes(a->mask, [&](int l) { a->p[l] = seg.At(e[l] * r.bits >> 3); });
}

void LocateShared(Warp& w, const Ins& i, const MemRef& r, const int64_t* e, Access* a) {
  int64_t size = static_cast<int64_t>(w.cta->shared.size());
  int64_t lo = -(r.base * 8 / r.bits), hi = (size - r.base) * 8 / r.bits - i.n;
  if (uint32_t bad = Outside(a->mask, e, lo, hi)) {
    int lane = std::countr_zero(bad);
    ReportFault(w, i.loc, "illegal-address",
                std::string(Verb(a->write)) + " at element " + std::to_string(e[lane]) + " of " +
                    r.name + " by " + LaneName(w, lane),
                "an address inside the CTA's " + std::to_string(size) + " bytes of shared memory");
    a->mask &= ~bad;
  }
  for (int l = 0; l < kLanes; ++l) {
    int64_t off = r.base + (e[l] * r.bits >> 3);
    a->addr[l] = static_cast<uint64_t>(off);
    a->p[l] = w.cta->shared.data() + off;
  }
}

void PointerAddresses(Warp& w, const MemRef& r, const int64_t* e, uint64_t* addr) {
  for (int l = 0; l < kLanes; ++l) {
    uint64_t base =
        r.pointer_scalar ? static_cast<uint64_t>(w.s[r.pointer]) : w.Row<uint64_t>(r.pointer)[l];
    addr[l] = base + static_cast<uint64_t>(e[l] * r.bits >> 3);
  }
}

}  // namespace

uint8_t* SparseMemory::At(int64_t offset) {
  auto& page = pages_[offset / kPageBytes];
  if (!page) {
    page = std::make_unique<uint8_t[]>(kPageBytes);
    std::memset(page.get(), 0xff, kPageBytes);
  }
  return page.get() + offset % kPageBytes;
}

void SparseMemory::Write(int64_t offset, const uint8_t* bytes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) *At(offset + i) = bytes[i];
}

void SparseMemory::Read(int64_t offset, uint8_t* bytes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) bytes[i] = *At(offset + i);
}

// An access never straddles two pages: it is aligned to its size.
uint8_t* Segment::At(int64_t offset) { return sparse ? sparse->At(offset) : host + offset; }

uint8_t* Resolve(Warp& w, uint64_t addr, int bytes) {
  uint64_t segment = addr >> kSegmentShift;
  int64_t off = static_cast<int64_t>(addr & kOffsetMask);
  if (segment == kSharedSegment) {
    bool inside = off + bytes <= static_cast<int64_t>(w.cta->shared.size());
    return inside ? w.cta->shared.data() + off : nullptr;
  }
  uint64_t index = segment - kFirstGlobalSegment;
  if (segment < kFirstGlobalSegment || index >= w.m->segments.size()) return nullptr;
  Segment& seg = w.m->segments[index];
  off -= seg.skew;
  if (off < 0 || off + bytes > seg.bytes) return nullptr;
  return seg.At(off);
}

namespace {

/*! Byte address of element 0 of a buffer, in the units of Access::addr. */
uint64_t BaseOf(const Warp& w, const MemRef& r) {
  if (r.space == Space::kShared) return static_cast<uint64_t>(r.base);
  uint64_t segment = kFirstGlobalSegment + static_cast<uint64_t>(r.param);
  return (segment << kSegmentShift) + static_cast<uint64_t>(w.m->segments[r.param].skew);
}

/*! Lanes that leave the view whose address the instruction was given. */
void CheckView(Warp& w, int32_t loc, const MemRef& r, Access* a) {
  if (r.space != Space::kShared && r.space != Space::kGlobal) return;
  int64_t lo = static_cast<int64_t>(BaseOf(w, r)) + r.first * r.bits / 8;
  int64_t hi = lo + r.extent * r.bits / 8 - a->bytes;
  uint32_t bad = 0;
  ForLanes(a->mask, [&](int l) {
    int64_t at = static_cast<int64_t>(a->addr[l]);
    bad |= static_cast<uint32_t>(at < lo || at > hi) << l;
  });
  if (!bad) return;
  int lane = std::countr_zero(bad);
  Finding f;
  f.code = "out-of-bounds";
  f.message = std::string(Verb(a->write)) + " outside buffer " + r.name;
  f.loc = loc;
  f.found = std::to_string(a->bytes) + " bytes at byte " +
            std::to_string(static_cast<int64_t>(a->addr[lane]) - lo) + " by " + LaneName(w, lane) +
            " (" + MaskName(bad) + " are outside)";
  f.required = "0 <= byte <= " + std::to_string(hi - lo) + ": the buffer has " +
               std::to_string(hi - lo + a->bytes) + " bytes";
  w.m->Report(std::move(f));
  a->mask &= ~bad;
}

}  // namespace

void LocateOperand(Warp& w, int32_t loc, const Operand& pointer, int bytes, bool write, Access* a,
                   bool atomic) {
  const MemRef* ref = pointer.ref >= 0 ? &w.m->refs[pointer.ref] : nullptr;
  LocatePointers(w, loc, w.Row<uint64_t>(pointer.row), bytes, write, a, ref, atomic);
}

void LocatePointers(Warp& w, int32_t loc, const uint64_t* addr, int bytes, bool write, Access* a,
                    const MemRef* ref, bool atomic) {
  a->ref = ref;
  a->atomic = atomic;
  a->bytes = bytes;
  a->write = write;
  a->mask = w.mask;
  a->space = addr[std::countr_zero(w.mask)] >> kSegmentShift == kSharedSegment ? Space::kShared
                                                                               : Space::kGlobal;
  for (int l = 0; l < kLanes; ++l)
    a->addr[l] = a->space == Space::kShared ? addr[l] & kOffsetMask : addr[l];
  if (ref && w.prog->options.bounds) CheckView(w, loc, *ref, a);
  ForLanes(a->mask, [&](int l) {
    a->p[l] = Resolve(w, addr[l], bytes);
    if (a->p[l]) return;
    a->mask &= ~(1u << l);
    ReportFault(w, loc, "illegal-address",
                std::string(Verb(write)) + " of " + std::to_string(bytes) +
                    " bytes through a pointer by " + LaneName(w, l) + ", offset " +
                    std::to_string(addr[l] & kOffsetMask) + " of " + SegmentName(w, addr[l]),
                "a pointer into shared memory or a buffer of the kernel");
  });
  CheckAlignment(w, loc, ref ? ref->name.c_str() : "a pointer operand", a);
  if (w.prog->options.checked() && a->mask) ObserveAccess(w, loc, *a);
}

std::string SegmentName(const Warp& w, uint64_t addr) {
  uint64_t segment = addr >> kSegmentShift;
  if (segment == kSharedSegment) return "shared memory";
  if (segment < kFirstGlobalSegment || segment - kFirstGlobalSegment >= w.m->segments.size())
    return "no memory";
  return "buffer " + w.m->segments[segment - kFirstGlobalSegment].name;
}

void Locate(Warp& w, const Ins& i, int bytes, bool write, Access* a) {
  const MemRef& r = w.m->refs[i.b];
  alignas(64) int64_t e[kLanes];
  Indices(w, i, e);
  a->mask = w.mask;
  if (w.prog->options.bounds) {
    if (uint32_t bad = Outside(a->mask, e, r.first, r.first + r.extent - i.n)) {
      ReportIndex(w, i, r, write, bad, e);
      a->mask &= ~bad;
    }
  }
  if (r.space == Space::kPointer) {
    uint64_t addr[kLanes];
    PointerAddresses(w, r, e, addr);
    uint32_t mask = w.mask;
    w.mask = a->mask;
    LocatePointers(w, i.loc, addr, bytes, write, a);
    w.mask = mask;
    return;
  }
  a->ref = &r;
  a->atomic = false;
  a->space = r.space;
  a->bytes = bytes;
  a->write = write;
  if (r.space == Space::kShared) {
    LocateShared(w, i, r, e, a);
  } else {
    LocateGlobal(w, i, r, e, a);
  }
  CheckAlignment(w, i.loc, r.name.c_str(), a);
  if (w.prog->options.checked() && a->mask) ObserveAccess(w, i.loc, *a);
}

namespace {

/*! E: element in memory; R: element of a row. */
template <typename E, typename R>
void Load(Warp& w, const Ins& i) {
  Access a;
  Locate(w, i, static_cast<int>(sizeof(E)) * i.n, false, &a);
  for (int k = 0; k < i.n; ++k) {
    R* d = w.Row<R>(i.d + k * static_cast<int>(sizeof(R) / 4));
    ForLanes(a.mask, [&](int l) {
      E value;
      std::memcpy(&value, a.p[l] + k * sizeof(E), sizeof(E));
      d[l] = static_cast<R>(value);
    });
  }
}

template <typename E, typename R>
void Store(Warp& w, const Ins& i) {
  Access a;
  Locate(w, i, static_cast<int>(sizeof(E)) * i.n, true, &a);
  if (w.prog->options.replica) CheckReplicas(w, i, a);
  for (int k = 0; k < i.n; ++k) {
    const R* s = w.Row<R>(i.d + k * static_cast<int>(sizeof(R) / 4));
    ForLanes(a.mask, [&](int l) {
      E value = static_cast<E>(s[l]);
      std::memcpy(a.p[l] + k * sizeof(E), &value, sizeof(E));
    });
  }
}

/*! 4-bit elements: the even one in the low half of its byte (PTX ISA 5.2.3). */
bool OddNibble(Warp& w, const Ins& i, int lane) {
  int64_t e[kLanes];
  Indices(w, i, e);
  return e[lane] & 1;
}

void LoadNibble(Warp& w, const Ins& i) {
  Access a;
  Locate(w, i, (i.n + 1) / 2, false, &a);
  ForLanes(a.mask, [&](int l) {
    int odd = OddNibble(w, i, l);
    for (int k = 0; k < i.n; ++k) {
      w.Row(i.d + k)[l] = a.p[l][(odd + k) / 2] >> ((odd + k) % 2 * 4) & 15;
    }
  });
}

void StoreNibble(Warp& w, const Ins& i) {
  Access a;
  Locate(w, i, (i.n + 1) / 2, true, &a);
  ForLanes(a.mask, [&](int l) {
    int odd = OddNibble(w, i, l);
    for (int k = 0; k < i.n; ++k) {
      int shift = (odd + k) % 2 * 4;
      uint8_t* byte = a.p[l] + (odd + k) / 2;
      *byte = static_cast<uint8_t>((*byte & ~(15 << shift)) | (w.Row(i.d + k)[l] & 15) << shift);
    }
  });
}

}  // namespace

Fn LoadFn(int bits, bool is_signed) {
  switch (bits) {
    case 4: return &LoadNibble;
    case 8: return is_signed ? &Load<int8_t, int32_t> : &Load<uint8_t, uint32_t>;
    case 16: return is_signed ? &Load<int16_t, int32_t> : &Load<uint16_t, uint32_t>;
    case 32: return &Load<uint32_t, uint32_t>;
    case 64: return &Load<uint64_t, uint64_t>;
    default: return nullptr;
  }
}

Fn StoreFn(int bits) {
  switch (bits) {
    case 4: return &StoreNibble;
    case 8: return &Store<uint8_t, uint32_t>;
    case 16: return &Store<uint16_t, uint32_t>;
    case 32: return &Store<uint32_t, uint32_t>;
    case 64: return &Store<uint64_t, uint64_t>;
    default: return nullptr;
  }
}

void RefAddress(Warp& w, const Ins& i) {
  const MemRef& r = w.m->refs[i.b];
  int64_t e[kLanes];
  Indices(w, i, e);
  uint64_t* d = w.Row<uint64_t>(i.d);
  if (r.space == Space::kPointer) return PointerAddresses(w, r, e, d);
  uint64_t base = 0;
  if (r.space == Space::kShared) base = (kSharedSegment << kSegmentShift) + r.base;
  if (r.space == Space::kLocal) base = (kLocalSegment << kSegmentShift) + r.row * 4 + r.base;
  if (r.space == Space::kGlobal) {
    base = ((kFirstGlobalSegment + r.param) << kSegmentShift) + w.m->segments[r.param].skew;
  }
  for (int l = 0; l < kLanes; ++l) d[l] = base + static_cast<uint64_t>(e[l] * r.bits >> 3);
}

void MaybeYield(Warp& w, const Ins&) {
  uint32_t r = w.m->Random() % 16;
  if (r < 2) w.stop = true;
  if (r >= 12) LandSomeCopy(w);
}

}  // namespace sim
}  // namespace tirx
