/*!
 * What every source printer needs: an indented output and names that are unique where visible.
 */
#ifndef TIRX_CODEGEN_PRINTER_H_
#define TIRX_CODEGEN_PRINTER_H_
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tirx {
namespace codegen {

/*!
 * Names of one function. A name is the user's, made an identifier, with a number when an earlier
 * visible definition has it. Names of a closed block are free again, so that two loops may both
 * count with `i`; a visible name is never shadowed.
 */
class NameTable {
 public:
  /*! \param reserved names that are never handed out; must outlive the table. */
  explicit NameTable(const std::unordered_set<std::string>* reserved) : reserved_(reserved) {}
  std::string Define(const std::string& hint);
  void Open() { blocks_.emplace_back(); }
  void Close();

 private:
  bool Taken(const std::string& name) const;
  const std::unordered_set<std::string>* reserved_;
  std::unordered_set<std::string> visible_;
  std::unordered_map<std::string, int> next_;  //!< first number worth trying for a hint
  std::vector<std::vector<std::string>> blocks_{1};
};

/*! `hint` with everything that is not a letter, digit or underscore replaced; never empty. */
std::string Identifier(const std::string& hint);

/*!
 * A statement of more than `columns` characters on several lines: a call is broken between its
 * arguments, an assignment after its `=`. Anything else, and text in quotes, stays as it is.
 */
std::string WrapStatement(const std::string& line, size_t columns);

/*! Lines with indentation. */
class LineWriter {
 public:
  std::string text;
  void Begin() { text.append(static_cast<size_t>(indent_) * 2, ' '); }
  /*! Ends the line, breaking it when it is long. */
  void End() {
    size_t start = text.rfind('\n') + 1;
    if (text.size() - start > kColumns)
      text.replace(start, text.size() - start, WrapStatement(text.substr(start), kColumns));
    text += '\n';
  }
  void Line(const std::string& line) {
    Begin();
    text += line;
    End();
  }
  void Indent() { ++indent_; }
  void Dedent() { --indent_; }

 private:
  static constexpr size_t kColumns = 100;
  int indent_{0};
};

}  // namespace codegen
}  // namespace tirx
#endif  // TIRX_CODEGEN_PRINTER_H_
