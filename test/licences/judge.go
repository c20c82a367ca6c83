package licences

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// Allowed are the licences, as SPDX names them, under which a module may be linked.
var Allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// Exception is a licence that is allowed for one module only.
type Exception struct{ Licence, Why string }

// Listed are modules that are allowed for themselves, with the licence that this is about and why.
// MPL-2.0 asks that changed files stay open and that people learn where the source is: nothing is
// changed here, and the notices name module and version.
var Listed = map[string]Exception{
	"github.com/go-sql-driver/mysql":          {"MPL-2.0", "the driver of MySQL and MariaDB, linked unchanged"},
	"github.com/hashicorp/memberlist":         {"MPL-2.0", "gossip between agents, linked unchanged"},
	"github.com/hashicorp/errwrap":            {"MPL-2.0", "memberlist needs it, linked unchanged"},
	"github.com/hashicorp/go-immutable-radix": {"MPL-2.0", "memberlist's metrics need it, linked unchanged"},
	"github.com/hashicorp/go-multierror":      {"MPL-2.0", "memberlist needs it, linked unchanged"},
	"github.com/hashicorp/go-sockaddr":        {"MPL-2.0", "memberlist needs it, linked unchanged"},
	"github.com/hashicorp/golang-lru":         {"MPL-2.0", "memberlist's metrics need it, linked unchanged"},
}

// known is how much of a file's words must belong to a licence: the rest are names and years.
const known = 75

// Licences returns under which licences a module stands, sorted; an error names the module and what
// is wrong with it.
func (m Module) Licences() ([]string, error) {
	var all []string
	for _, f := range m.Files {
		if !f.licence() {
			continue
		}
		cover := licensecheck.Scan([]byte(f.Text))
		if cover.Percent < known {
			return nil, fmt.Errorf("%s %s: %s is no licence known here: %.0f %% of it are", m.Path, m.Version, f.Path, cover.Percent)
		}
		for _, match := range cover.Match {
			if match.IsURL {
				continue
			}
			if !slices.Contains(all, match.ID) {
				all = append(all, match.ID)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s %s: no file with a licence", m.Path, m.Version)
	}
	slices.Sort(all)
	return all, nil
}

// licence tells a licence from what is passed on beside one.
func (f File) licence() bool {
	name := strings.ToLower(path.Base(f.Path))
	return !strings.HasPrefix(name, "notice") && !strings.HasPrefix(name, "patents") && !strings.HasPrefix(name, "copyright")
}

// Judge returns nil when a module may be linked.
func (m Module) Judge() error {
	licences, err := m.Licences()
	if err != nil {
		return err
	}
	for _, l := range licences {
		if !slices.Contains(Allowed, l) && Listed[m.Path].Licence != l {
			return fmt.Errorf("%s %s: %s is not allowed: allow it for this module in Listed of test/licences, with the reason, or do without the module", m.Path, m.Version, l)
		}
	}
	return nil
}
