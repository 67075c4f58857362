// The structure of JSON lines: objects that are not nested too deeply. What else is no JSON is left to the parser.
#include "kernels.hpp"

namespace suffice {

Index misplaced_bracket(const std::uint8_t* text, Index n, std::int64_t deepest, Nesting& state) {
    Nesting s = state;
    Index i = 0;
    for (; i < n; ++i) {
        const std::uint8_t c = text[i];
        if (c == '\n') {  // which no string contains
            ++s.lines;
            s.in_string = s.escaped = 0;
        } else if (s.in_string) {
            if (s.escaped)
                s.escaped = 0;
            else if (c == '\\')
                s.escaped = 1;
            else if (c == '"')
                s.in_string = 0;
        } else if (c == '{' || c == '[') {
            if (s.depth == deepest || (s.depth == 0 && c == '[')) break;
            ++s.depth;
        } else if (s.depth == 0) {
            if (c != ' ' && c != '\t' && c != '\r') break;
        } else if (c == '"') {
            s.in_string = 1;
        } else if (c == '}' || c == ']') {
            --s.depth;
        }
    }
    state = s;
    return i < n ? i : -1;
}

}  // namespace suffice
