/*!
 * ApplyLayouts, first half: which storage there is, and what it must be like.
 */
#ifndef TIRX_SRC_PASSES_FLAT_STORAGE_H_
#define TIRX_SRC_PASSES_FLAT_STORAGE_H_
#include <tirx/ir/functor.h>

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tirx {
namespace passes {

/*! Bytes between two places where the swizzle of a layout repeats; 0 without swizzle. */
int64_t SwizzleBytes(const Layout& layout, DType element);

/*! All flat buffers of a function, keyed by their data variable. */
class FlatStorage : public StmtVisitor {
 public:
  explicit FlatStorage(const PrimFunc& func);
  /*! The flat buffer through which accesses to `b` go: the storage, or its alias of b's dtype. */
  Buffer FlatOf(const Buffer& b) const;
  /*! The aliases to declare after the storage of this data variable. */
  std::vector<Buffer> AliasesOf(const Var& data) const;
  /*! The buffers to declare for a pointer that the program computes (the first, and its aliases);
   *  none for other variables. */
  std::vector<Buffer> DeclaredAt(const Var& pointer) const;
  /*! Pointers of that kind that no Bind defines. */
  std::vector<Var> UnboundPointers() const;

 protected:
  void VisitBind(const BindNode* n) override;
  void VisitAllocBuffer(const AllocBufferNode* n) override;
  void VisitDeclBuffer(const DeclBufferNode* n) override;
  void VisitBufferStore(const BufferStoreNode* n) override;
  void VisitBufferLoad(const BufferLoadNode* n) override;
  void VisitBuffer(const Buffer& b) override;

 private:
  /*! Who provides storage: the caller, an AllocBuffer here, or a pointer computed here. */
  enum class Origin { kParam, kAlloc, kPointer };
  struct Storage {
    Buffer first{ffi::UnsafeInit{}};
    Origin origin;
    int64_t align{0};
    std::vector<Buffer> views;  // one per dtype, flat after Build; the first is the storage's own
  };
  void Add(const Buffer& first, Origin origin);
  void Access(const Buffer& b, const ffi::Array<PrimExpr>& indices);
  void Build(Storage* s);
  const Storage& Find(const VarNode* data) const;
  std::unordered_map<const VarNode*, Storage> storage_;
  std::unordered_set<const VarNode*> bound_;
};

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_SRC_PASSES_FLAT_STORAGE_H_
