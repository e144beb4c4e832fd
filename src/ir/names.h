/*!
 * Names of the printed program (private to this room).
 */
#ifndef TIRX_SRC_IR_NAMES_H_
#define TIRX_SRC_IR_NAMES_H_
#include <tvm/ffi/object.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tirx {

/*!
 * Gives every variable and buffer a Python identifier: its own name when that is free, else the
 * name with a suffix _1, _2, ... that is free.
 */
class NameTable {
 public:
  /*! The name of `key`, made from `hint` at its first mention. */
  const std::string& Of(const tvm::ffi::Object* key, std::string_view hint);
  /*! Makes `key` print as `text`, which is not a name of its own ("A.data"). */
  void Alias(const tvm::ffi::Object* key, std::string text);
  const std::string* Find(const tvm::ffi::Object* key) const;
  /*! A new name that belongs to no node. */
  std::string Fresh(std::string_view hint);
  static bool IsKeyword(const std::string& name);
  /*! Letters, digits and _, not starting with a digit, and no keyword. */
  static bool IsIdentifier(const std::string& name);
  /*! Frees the name of a loop variable after its loop. */
  void Release(const tvm::ffi::Object* key);

 private:
  std::unordered_map<const tvm::ffi::Object*, std::string> names_;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, int> next_suffix_;
};

}  // namespace tirx
#endif  // TIRX_SRC_IR_NAMES_H_
