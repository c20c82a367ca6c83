package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// object and list are the parts of a status document.
type (
	object = map[string]any
	list   = []any
)

// pretty writes JSON the way that fdbcli does: keys sorted, four spaces, and a space before each colon.
func pretty(value any) []byte {
	var b bytes.Buffer
	write(&b, value, 0)
	return b.Bytes()
}

func write(b *bytes.Buffer, value any, depth int) {
	switch v := value.(type) {
	case object:
		keys := slices.Sorted(maps.Keys(v))
		enclose(b, "{", "}", depth, len(keys), func(i int) {
			b.WriteString(quote(keys[i]) + " : ")
			write(b, v[keys[i]], depth+1)
		})
	case list:
		enclose(b, "[", "]", depth, len(v), func(i int) { write(b, v[i], depth+1) })
	case string:
		b.WriteString(quote(v))
	case float64:
		b.WriteString(number(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	default:
		panic(fmt.Sprintf("a status document has no %T", value))
	}
}

func enclose(b *bytes.Buffer, open, end string, depth, count int, item func(int)) {
	b.WriteString(open + "\n")
	indent := strings.Repeat("    ", depth+1)
	for i := range count {
		b.WriteString(indent)
		item(i)
		if i < count-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString(strings.Repeat("    ", depth) + end)
}

// quote escapes as JSON asks.
func quote(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("\"\\<>&", r) }) {
		return `"` + s + `"`
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// number is a real number, with all its digits.
func number(f float64) string { return strconv.FormatFloat(f, 'g', 17, 64) }
