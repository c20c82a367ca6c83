package doctor

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
)

var (
	// servedPorts are names of ports on which databases serve, and otherPorts names of those beside them.
	servedPorts = regexp.MustCompile(`(^|-)(http|https|client|mysql|mariadb)($|-)`)
	otherPorts  = regexp.MustCompile(`admin|metrics|exporter|prometheus|jmx`)
)

// port finds servers that serve on another port than agents connect to, as far as the names of a
// container's ports say it.
func port(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		c := database.Container(&set.Spec.Template)
		usual := int32(config.UsualPort(string(f.engine(set))))
		if c == nil || usual == 0 || f.work(set) {
			return nil
		}
		is := f.connection(set)
		asked := cmp.Or(is.Port, usual)
		if !config.OwnHost(is.Host) || slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == asked }) {
			return nil
		}
		i := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool {
			return servedPorts.MatchString(p.Name) && !otherPorts.MatchString(p.Name)
		})
		if i < 0 {
			return nil
		}
		serves := c.Ports[i]
		return one(Warning, fmt.Sprintf("container %s serves on port %d (%s), and agents connect to %d: they would reach nobody, and nothing goes", c.Name, serves.ContainerPort, serves.Name, asked),
			fmt.Sprintf("rollcall enroll --port %d, or spec.connection.port: %[1]d", serves.ContainerPort))
	})
}
