/*!
 * Facts of a map from the facts of the maps it is made of.
 */
#ifndef TIRX_LAYOUT_PROVE_STRUCTURE_H_
#define TIRX_LAYOUT_PROVE_STRUCTURE_H_
#include <tirx/layout/prove.h>

namespace tirx {
namespace layout {
namespace prove {

/*! Fills in what follows from the parts of a composition, product, translation, registered
 *  bijection or piecewise map. Never enumerates. */
void FromStructure(const LayoutMap& map, LayoutProof* proof);

}  // namespace prove
}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_PROVE_STRUCTURE_H_
