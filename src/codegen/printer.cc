#include <tirx/codegen/printer.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace tirx {
namespace codegen {

std::string Identifier(const std::string& hint) {
  std::string out;
  for (char c : hint) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  // A leading digit is no name; two underscores start names of the compiler.
  bool reserved = out.compare(0, 2, "__") == 0;
  if (out.empty() || reserved || std::isdigit(static_cast<unsigned char>(out[0]))) out = "v" + out;
  return out;
}

bool NameTable::Taken(const std::string& name) const {
  return visible_.count(name) || reserved_->count(name);
}

std::string NameTable::Define(const std::string& hint) {
  std::string base = Identifier(hint), name = base;
  if (Taken(name)) {
    int& number = next_[base];
    do {
      name = base + "_" + std::to_string(++number);
    } while (Taken(name));
  }
  visible_.insert(name);
  blocks_.back().push_back(name);
  return name;
}

void NameTable::Close() {
  for (const std::string& name : blocks_.back()) {
    visible_.erase(name);
    // The next block may use the number again.
    size_t cut = name.rfind('_');
    auto next = cut == std::string::npos ? next_.end() : next_.find(name.substr(0, cut));
    if (next != next_.end()) next->second = std::min(next->second, std::atoi(&name[cut + 1]) - 1);
  }
  blocks_.pop_back();
}

namespace {

/*! Position of the parenthesis that the last `)` of a statement closes, or npos. */
size_t OpeningOf(const std::string& s, size_t close) {
  int depth = 0;
  for (size_t i = close + 1; i-- > 0;) {
    if (s[i] == ')') ++depth;
    if (s[i] == '(' && --depth == 0) return i;
  }
  return std::string::npos;
}

/*!
 * Where to break row[from, to): the space after the && or + that is least deep in brackets, && before
 * + and later before earlier; 0 when there is none in the second half.
 */
size_t BreakPoint(const std::string& row, size_t from, size_t to) {
  size_t best = 0;
  int best_rank = 0, depth = 0;
  for (size_t i = from; i < to; ++i) {
    char c = row[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    bool both = i > 0 && c == '&' && row[i - 1] == '&', plus = c == '+' && row[i + 1] == ' ';
    int rank = 2 * depth + plus;
    if ((both || plus) && i > (from + to) / 2 && (!best || rank <= best_rank)) {
      best = i + 1;
      best_rank = rank;
    }
  }
  return best;
}

/*! `row` with line breaks after && or + where it would pass `columns`. */
std::string BrokenAtOperators(std::string row, size_t columns, const std::string& indent) {
  size_t from = 0;
  while (row.size() - from > columns) {
    size_t at = BreakPoint(row, from, from + columns - 1);
    if (!at) break;
    row.replace(at, 1, "\n" + indent);
    from = at + 1;
  }
  return row;
}

/*! Ends of the parts of s[begin, end) between commas outside brackets. */
std::vector<size_t> Commas(const std::string& s, size_t begin, size_t end) {
  std::vector<size_t> out;
  int depth = 0;
  for (size_t i = begin; i < end; ++i) {
    if (s[i] == '(' || s[i] == '[' || s[i] == '{') ++depth;
    if (s[i] == ')' || s[i] == ']' || s[i] == '}') --depth;
    if (s[i] == ',' && depth == 0) out.push_back(i + 1);
  }
  out.push_back(end);
  return out;
}

}  // namespace

std::string WrapStatement(const std::string& line, size_t columns) {
  if (line.find('"') != std::string::npos || line.find("//") != std::string::npos) return line;
  std::string indent(line.find_first_not_of(' ') + 4, ' ');
  bool call = line.size() > 2 && line.compare(line.size() - 2, 2, ");") == 0;
  size_t open = call ? OpeningOf(line, line.size() - 2) : std::string::npos;
  bool named = open != std::string::npos && open > 0 &&
               (std::isalnum(line[open - 1]) || line[open - 1] == '>');
  if (!named) {
    size_t assign = line.find(" = ");
    if (line.back() != ';' || assign == std::string::npos) {
      return BrokenAtOperators(line, columns, indent);
    }
    std::string place = line.substr(0, assign + 2), value = indent + line.substr(assign + 3);
    std::string deeper = indent + "    ";
    return BrokenAtOperators(place, columns, deeper) + "\n" +
           BrokenAtOperators(value, columns, deeper);
  }
  std::string out = line.substr(0, open + 1), row;
  size_t begin = open + 1;
  for (size_t end : Commas(line, begin, line.size() - 2)) {
    std::string part = line.substr(begin, end - begin);
    if (part[0] == ' ') part.erase(0, 1);
    if (!row.empty() && row.size() + part.size() + 1 > columns) {
      out += "\n" + BrokenAtOperators(row, columns, indent + "    ");
      row.clear();
    }
    row += (row.empty() ? indent : " ") + part;
    begin = end;
  }
  return out + "\n" + BrokenAtOperators(row, columns, indent + "    ") + ");";
}

}  // namespace codegen
}  // namespace tirx
