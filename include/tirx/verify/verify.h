/*!
 * What is legal at each stage, as one executable table.
 *
 * Stages: "tile" (as parsed, and between passes) and "native" (what the printers and the simulator
 * read; ARCHITECTURE.md lists it). A row of the table says in which stages a kind of statement may
 * stand and checks one statement of it; rules about names hold at every stage.
 */
#ifndef TIRX_VERIFY_VERIFY_H_
#define TIRX_VERIFY_VERIFY_H_
#include <tirx/ir/function.h>

#include <string>
#include <vector>

namespace tirx {
namespace verify {

/*! One broken rule. */
struct Problem {
  std::string code;
  std::string message;
  std::string found;
  std::string required;
  Span span;
};

/*! All broken rules, in program order, at most 20. */
std::vector<Problem> Verify(const PrimFunc& func, const std::string& stage);

/*! The rows of the table as text: (statement, stages, rule). */
std::vector<std::vector<std::string>> Rules();

}  // namespace verify
}  // namespace tirx
#endif  // TIRX_VERIFY_VERIFY_H_
