package doctor

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// zooKeeperOption is an option of a server in a command line or in options for Java.
var zooKeeperOption = regexp.MustCompile(`-Dzookeeper\.([A-Za-z0-9.]+)=("[^"]*"|'[^']*'|\S+)`)

// zooKeeperVariables are the variables of images that become options, by the option.
var zooKeeperVariables = map[string][]string{
	"4lw.commands.whitelist": {"ZOO_4LW_COMMANDS_WHITELIST"},
	"admin.enableServer":     {"ZOO_ADMINSERVER_ENABLED", "ZOO_ENABLE_ADMIN_SERVER"},
	"admin.serverPort":       {"ZOO_ADMIN_SERVER_PORT_NUMBER"},
}

// zooKeeperOptions are the options that can be seen in the container, with where they are set.
func zooKeeperOptions(c *corev1.Container) map[string]database.Setting {
	out := map[string]database.Setting{}
	read := func(text, from string) {
		for _, m := range zooKeeperOption.FindAllStringSubmatch(text, -1) {
			out[m[1]] = database.Setting{Value: strings.Trim(m[2], `"'`), From: from}
		}
	}
	for option, names := range zooKeeperVariables {
		for _, e := range c.Env {
			if slices.Contains(names, e.Name) && e.ValueFrom == nil {
				out[option] = database.Setting{Value: e.Value, From: "variable " + e.Name}
			}
		}
	}
	for _, e := range c.Env {
		read(e.Value, "variable "+e.Name)
	}
	read(commandLine(c), "the command line")
	return out
}

// isZooKeeper reports whether a StatefulSet holds servers of ZooKeeper: as its DatabaseCluster says,
// or as it looks.
func (f *Facts) isZooKeeper(set *appsv1.StatefulSet, c *corev1.Container) bool {
	if f.clusterOf(set) != nil {
		return f.spec(set).Engine == model.ZooKeeper
	}
	return database.EngineOf(c) == model.ZooKeeper
}

// ensemble checks whether the agents can ask servers of ZooKeeper, and whether any of them may go.
func ensemble(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) (out []Finding) {
		c := database.Container(&set.Spec.Template)
		if c == nil || !f.isZooKeeper(set, c) {
			return nil
		}
		options := zooKeeperOptions(c)
		words, said := options["4lw.commands.whitelist"]
		enough := slices.ContainsFunc(strings.Split(words.Value, ","), func(w string) bool { w = strings.TrimSpace(w); return w == "*" || w == "mntr" })
		admin := options["admin.enableServer"]
		if slices.Contains([]string{"false", "no", "0"}, strings.ToLower(admin.Value)) && !enough {
			found := fmt.Sprintf("the admin server is off (%s), and 4lw.commands.whitelist ", admin.From)
			severity := Error
			if said {
				found += fmt.Sprintf("(%s) has no mntr: the agents cannot ask the servers, and nothing goes", words.From)
			} else {
				found, severity = found+"cannot be seen: without mntr and conf in it the agents cannot ask the servers, and nothing goes", Warning
			}
			out = append(out, Finding{Severity: severity, Found: found, Fix: "turn the admin server on, or allow srvr, mntr, conf (deploy/docs/zookeeper.md#before-you-enroll)"})
		}
		at := options["admin.serverPort"]
		usual := cmp.Or(int(f.spec(set).Connection.AdminPort), 8080)
		if port, err := strconv.Atoi(at.Value); err == nil && port != usual && !enough {
			out = append(out, Finding{Severity: Warning, Found: fmt.Sprintf("the admin server listens on port %d (%s), and agents ask port %d", port, at.From, usual),
				Fix: fmt.Sprintf("set spec.connection.adminPort: %d", port)})
		}
		if set.Spec.Replicas != nil && *set.Spec.Replicas == 2 {
			out = append(out, Finding{Severity: Warning, Found: "it has two servers: without either of them the other one is no majority, so none ever goes",
				Fix: "have three voters"})
		}
		return out
	})
}
