package doctor

import (
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
)

// unknown returns an error where nothing says which database StatefulSets are of: half of the checks
// depend on it, and would say nothing.
func (f *Facts) unknown() error {
	var unknown []string
	for i := range f.Sets {
		set := &f.Sets[i]
		if f.engine(set) != "" || f.isSQL(set) || operatorOf(set) != nil {
			continue
		}
		image := "no image"
		if c := database.Container(&set.Spec.Template); c != nil && c.Image != "" {
			image = "image " + c.Image
		}
		unknown = append(unknown, set.Name+" ("+image+")")
	}
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("which database is this? Neither images nor ports say it of StatefulSet %s: say it by --engine, and name the StatefulSets of that database where there are others", strings.Join(unknown, ", "))
}
