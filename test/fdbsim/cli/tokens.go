package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// parsed is a line of commands, each of them its tokens.
type parsed struct {
	commands  [][]string
	malformed bool // an escape that means nothing
	partial   bool // a quote that does not end
}

// split takes a line apart: commands end at semicolons, tokens at blanks; quotes and backslashes keep both. What comes
// after a malformed escape is not looked at.
func split(line string) parsed {
	var out parsed
	var tokens []string
	var token strings.Builder
	quoted, begun := false, false
	endToken := func() {
		if token.Len() > 0 || begun {
			tokens = append(tokens, token.String())
		}
		token.Reset()
		begun = false
	}
	endCommand := func() {
		endToken()
		out.commands = append(out.commands, tokens)
		tokens = nil
	}
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case b == '"':
			quoted, begun = !quoted, true
		case b == ';' && !quoted:
			endCommand()
		case strings.IndexByte(" \t\r\n", b) >= 0 && !quoted:
			endToken()
		case b == '\\':
			char, length, ok := escape(line[i:])
			if !ok {
				out.malformed = true
				out.commands = append(out.commands, tokens)
				return out
			}
			token.WriteByte(char)
			i += length - 1
		default:
			token.WriteByte(b)
		}
	}
	endCommand()
	out.partial = quoted
	return out
}

// escape reads a backslash and what belongs to it.
func escape(s string) (char byte, length int, ok bool) {
	if len(s) < 2 {
		return 0, 0, false
	}
	digits := map[byte]int{'x': 2, 'u': 4}[s[1]]
	switch {
	case strings.IndexByte("\"\\ ;", s[1]) >= 0:
		return s[1], 2, true
	case digits > 0 && len(s) >= 2+digits:
		n, err := strconv.ParseUint(s[2:2+digits], 16, 8)
		return byte(n), 2 + digits, err == nil
	}
	return 0, 0, false
}

// printable writes a token as fdbcli echoes it.
func printable(token string) string {
	var b strings.Builder
	for i := range len(token) {
		switch c := token[i]; {
		case c == '\\' || c == '"':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c > 32 && c < 127:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// plain writes a key or a value as fdbcli prints it: unlike in an echo, quotes and blanks stay as they are.
func plain(bytes string) string {
	var b strings.Builder
	for i := range len(bytes) {
		switch c := bytes[i]; {
		case c == '\\':
			b.WriteString(`\\`)
		case c >= 32 && c < 127:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}
