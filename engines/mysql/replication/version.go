package replication

import (
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// Version is the version of a server, as far as behaviour depends on it.
type Version struct {
	Flavor Flavor
	engines.Version
}

// ParseVersion reads what VERSION() answers: 8.4.3, 9.7.4-2, 10.11.19-MariaDB-log,
// and 5.5.5-10.11.2-MariaDB, which some MariaDB servers say for old clients.
func ParseVersion(text string) (Version, error) {
	flavor, number := MySQL, text
	if strings.Contains(strings.ToLower(text), "mariadb") {
		flavor, number = MariaDB, strings.TrimPrefix(text, "5.5.5-")
	}
	if end := strings.IndexFunc(number, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		number = number[:end]
	}
	v, err := engines.ParseVersion(number)
	if err != nil {
		return Version{}, fmt.Errorf("version %q: must be major.minor.patch", engines.OneLine(text))
	}
	return Version{flavor, v}, nil
}
