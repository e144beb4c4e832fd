/*!
 * Meanings: what an instruction of the table does, by the name in Instr::sim.
 *
 * A meaning is a function (warp, call). Value operands arrive in rows (32-bit values one row,
 * 64-bit values and pointers two), places as the rows to write; a meaning writes active lanes only
 * and reads every operand before it writes any, because places may be operands too. Pointers are
 * device addresses (machine.h). Each family registers its meanings in one file of src/sim/ops.
 */
#ifndef TIRX_SIM_OPS_H_
#define TIRX_SIM_OPS_H_
#include <tirx/sim/machine.h>

#include <string>

namespace tirx {
namespace sim {

struct Meaning {
  const char* name;
  Kind kind;
  void (*run)(Warp& w, const OpCall& c, int32_t loc);
  /*! Fills OpCall::p from attributes and the name, once per call site; may refuse. */
  void (*prepare)(OpCall* c){nullptr};
  bool ordered{false};  //!< its result tells in which order CTAs run
};

std::vector<std::string> MeaningNames();
const Meaning* FindMeaning(const std::string& name);
/*! All registered names, in no order. */
std::vector<std::string> MeaningNames();
struct RegisterMeanings {
  RegisterMeanings(std::initializer_list<Meaning> list);
};

/*! An integer or string attribute of the instruction (sim_attrs). */
int64_t IntAttr(const OpCall& c, const char* key, int64_t otherwise);
std::string StrAttr(const OpCall& c, const char* key, const char* otherwise = "");

/*! Reports that an instruction which needs every thread of the warp runs with `mask`. */
void ReportPartialWarp(Warp& w, const OpCall& c, int32_t loc);
/*! True when all existing lanes are active and the warp is whole; reports otherwise. */
bool RequireWholeWarp(Warp& w, const OpCall& c, int32_t loc);

}  // namespace sim
}  // namespace tirx
#endif  // TIRX_SIM_OPS_H_
