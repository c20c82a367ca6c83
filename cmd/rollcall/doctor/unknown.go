package doctor

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/workload"
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
		unknown = append(unknown, set.Name+" ("+looks(database.Container(&set.Spec.Template))+")")
	}
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("which database is this? Images and ports do not say it of StatefulSet %s: say it by --engine, and name the StatefulSets of that database where there are others", strings.Join(unknown, ", "))
}

// looks says in words what a container looks like that is of no database for sure.
func looks(c *corev1.Container) string {
	if c == nil || c.Image == "" {
		return "no image"
	}
	text := "image " + c.Image
	if named := database.NamedIn(c.Image); len(named) == 1 {
		text += ", which is " + string(named[0]) + "'s"
	}
	if engine, port := workload.UsesPortOf(c); engine != "" {
		text += fmt.Sprintf(", with port %d, which is %s's", port, engine)
	}
	return text
}
