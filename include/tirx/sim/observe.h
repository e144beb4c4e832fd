/*!
 * The observers of memory: each looks at an access before it happens and changes no value.
 */
#ifndef TIRX_SIM_OBSERVE_H_
#define TIRX_SIM_OBSERVE_H_
#include <tirx/sim/machine.h>

#include <string>

namespace tirx {
namespace sim {

void CountAccess(Machine* m, int32_t loc, const Access& a);

/*! Reads of bytes that nobody wrote, or that an unfinished asynchronous copy will write. */
void CheckShared(Warp& w, int32_t loc, const Access& a);
/*! Conflicting accesses of two warps to shared memory without a barrier between them. */
void TrackShared(Warp& w, int32_t loc, const Access& a);
/*! Shared bytes [base, base + bytes) change state (init observer); loc: who did it. */
void MarkShared(Warp& w, int32_t loc, uint64_t base, int64_t bytes, uint8_t state);

std::string AllocationAt(const Program& p, uint64_t shared_offset);
/*! JSON text of findings and counters. */
std::string ReportJson(const Machine& m);

}  // namespace sim
}  // namespace tirx
#endif  // TIRX_SIM_OBSERVE_H_
