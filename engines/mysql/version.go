package mysql

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// version of a server; only what behaviour depends on.
type version struct {
	flavor              Flavor
	major, minor, patch int
}

// parseVersion reads what VERSION() answers: 8.4.3, 9.7.4-2, 10.11.19-MariaDB-log,
// and 5.5.5-10.11.2-MariaDB, which some MariaDB servers say for old clients.
func parseVersion(text string) (version, error) {
	v := version{flavor: MySQL}
	number := text
	if strings.Contains(strings.ToLower(text), "mariadb") {
		v.flavor, number = MariaDB, strings.TrimPrefix(text, "5.5.5-")
	}
	end := strings.IndexFunc(number, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end >= 0 {
		number = number[:end]
	}
	parts := strings.Split(number, ".")
	if len(parts) != 3 {
		return version{}, fmt.Errorf("version %q: want major.minor.patch", engines.OneLine(text))
	}
	for i, into := range []*int{&v.major, &v.minor, &v.patch} {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return version{}, fmt.Errorf("version %q: want numbers", engines.OneLine(text))
		}
		*into = int(n)
	}
	return v, nil
}

// String is the version as numbers.
func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch) }

// compare as numbers: 10.11 is later than 10.6.
func (v version) compare(w version) int {
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), cmp.Compare(v.patch, w.patch))
}
