/*!
 * What the printer must know before it prints the first line: which names are used and how.
 */
#ifndef TIRX_CODEGEN_CUDA_USAGE_H_
#define TIRX_CODEGEN_CUDA_USAGE_H_
#include <tirx/ir/function.h>

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tirx {
namespace codegen {

/*! How the storage behind one data variable is used. */
struct StorageUse {
  /*! Places that read it, except in values stored to it again and in definitions nobody uses. */
  int reads = 0;
  bool written = false;  //!< or its address escapes to where that is not known
  int64_t align = 1;     //!< bytes that the widest access needs
  bool Used() const { return reads > 0 || written; }
};

struct Usage {
  std::unordered_map<const VarNode*, StorageUse> storage;
  /*! References of each variable, without those by definitions that are themselves unused. */
  std::unordered_map<const VarNode*, int> references;
  /*! Names of instructions, and of the user's own functions. */
  std::set<std::string> calls;
  std::unordered_set<const BufferNode*> buffers;  //!< those that are accessed
  /*! Headers that declare the dtypes of all values. */
  std::set<std::string> headers;
};

/*! One walk over a native-stage body. */
Usage FindUsage(const Stmt& body);
/*! Whether evaluating e only computes a value. */
bool IsPure(const PrimExpr& e);

}  // namespace codegen
}  // namespace tirx
#endif  // TIRX_CODEGEN_CUDA_USAGE_H_
