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
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/security"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

var (
	// zooKeeperOption is an option of a server in a command line or in options for Java.
	zooKeeperOption = regexp.MustCompile(`-Dzookeeper\.([A-Za-z0-9.]+)=("[^"]*"|'[^']*'|\S+)`)
	// zooKeeperLine is one in a configuration file.
	zooKeeperLine = regexp.MustCompile(`(?m)^\s*((?:admin|4lw)\.[A-Za-z0-9.]+)\s*=\s*(.*?)\s*$`)
	// zooKeeperServer is a server in a list of them, with the host and what its line says besides.
	zooKeeperServer = regexp.MustCompile(`(?:server\.\d+\s*=\s*)?([A-Za-z0-9][A-Za-z0-9.$(){}_-]*):\d+:\d+([:A-Za-z0-9]*)`)
)

// zooKeeperVariables are the variables of images that become options, by the option.
var zooKeeperVariables = map[string][]string{
	"4lw.commands.whitelist": {"ZOO_4LW_COMMANDS_WHITELIST"},
	"admin.enableServer":     {"ZOO_ADMINSERVER_ENABLED", "ZOO_ENABLE_ADMIN_SERVER", "ZOOKEEPER_ADMIN_ENABLE_SERVER"},
	"admin.serverPort":       {"ZOO_ADMIN_SERVER_PORT_NUMBER"},
}

// zooKeeper is what can be seen of the servers of a StatefulSet.
type zooKeeper struct {
	options map[string]database.Setting
	// servers are the lists of servers that are set, as they stand there.
	servers []string
}

// zooKeeperOf reads variables, options for Java, the command line and zoo.cfg, of which the last counts.
func zooKeeperOf(set *appsv1.StatefulSet, c *corev1.Container, o database.Objects) zooKeeper {
	z := zooKeeper{options: map[string]database.Setting{}}
	env := database.Environment(set, c, o)
	for option, names := range zooKeeperVariables {
		for _, name := range names {
			if env[name] != "" {
				z.options[option] = database.Setting{Value: env[name], From: "variable " + name}
			}
		}
	}
	read := func(options *regexp.Regexp, text, from string) {
		for _, m := range options.FindAllStringSubmatch(text, -1) {
			z.options[m[1]] = database.Setting{Value: strings.Trim(m[2], `"'`), From: from}
		}
	}
	for _, e := range c.Env { // in the order of the template
		read(zooKeeperOption, env[e.Name], "variable "+e.Name)
	}
	read(zooKeeperOption, commandLine(c), "the command line")
	read(zooKeeperLine, strings.Join(strings.Fields(env["ZOO_CFG_EXTRA"]), "\n"), "variable ZOO_CFG_EXTRA")
	text, from := security.File(set, o, "zoo.cfg")
	read(zooKeeperLine, text, "zoo.cfg of "+from)
	z.servers = []string{env["ZOO_SERVERS"], text}
	return z
}

// is reports whether an option has one of the values.
func (z zooKeeper) is(option string, values ...string) bool {
	return slices.Contains(values, strings.ToLower(z.options[option].Value))
}

// voters are the hosts of the servers that vote, as far as a list of them can be seen.
func (z zooKeeper) voters() (hosts []string) {
	for _, list := range z.servers {
		for _, m := range zooKeeperServer.FindAllStringSubmatch(list, -1) {
			if !strings.Contains(m[2], "observer") && !slices.Contains(hosts, m[1]) {
				hosts = append(hosts, m[1])
			}
		}
	}
	return hosts
}

// ensemble checks whether the agents can ask servers of ZooKeeper, and whether any of them may go.
func ensemble(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		c := database.Container(&set.Spec.Template)
		if c == nil || f.engine(set) != model.ZooKeeper {
			return nil
		}
		z := zooKeeperOf(set, c, f.Objects())
		return append(f.asked(set, z), f.votes(set, z)...)
	})
}

// asked finds servers that agents cannot ask: neither by the admin server nor by words.
func (f *Facts) asked(set *appsv1.StatefulSet, z zooKeeper) (out []Finding) {
	words, said := z.options["4lw.commands.whitelist"]
	enough := slices.ContainsFunc(strings.Split(words.Value, ","), func(w string) bool { w = strings.TrimSpace(w); return w == "*" || w == "mntr" })
	if enough {
		return nil
	}
	closed := ""
	switch {
	case z.is("admin.enableServer", "false", "no", "0"):
		closed = "the admin server is off (" + z.options["admin.enableServer"].From + ")"
	case z.is("admin.forceHttps", "true"):
		closed = "the admin server speaks TLS alone (" + z.options["admin.forceHttps"].From + ")"
	}
	if closed != "" {
		found := closed + ", and 4lw.commands.whitelist "
		severity := Error
		if said {
			found += fmt.Sprintf("(%s) has no mntr: the agents cannot ask the servers, and nothing goes", words.From)
		} else {
			found, severity = found+"cannot be seen: without mntr and conf in it the agents cannot ask the servers, and nothing goes", Warning
		}
		return []Finding{{Severity: severity, Found: found, Fix: "turn the admin server on, or allow srvr, mntr, conf (deploy/docs/zookeeper.md#before-you-enroll)"}}
	}
	at := z.options["admin.serverPort"]
	usual := cmp.Or(int(f.spec(set).Connection.AdminPort), 8080)
	if port, err := strconv.Atoi(at.Value); err == nil && port != usual {
		return []Finding{{Severity: Warning, Found: fmt.Sprintf("the admin server listens on port %d (%s), and agents ask port %d", port, at.From, usual),
			Fix: fmt.Sprintf("set spec.connection.adminPort: %d", port)}}
	}
	return nil
}

// votes finds ensembles of two voters. Observers do not vote, and stand in StatefulSets of their own.
func (f *Facts) votes(set *appsv1.StatefulSet, z zooKeeper) []Finding {
	voters := z.voters()
	own := !slices.ContainsFunc(voters, func(host string) bool { return !strings.HasPrefix(host, set.Name+"-") })
	pods := int32(0)
	family := f.Family(set)
	for _, s := range family {
		pods += replicas(s)
	}
	if len(voters) != 2 && (pods != 2 || !own) {
		return nil
	}
	return one(Warning, "it has two servers that vote: without either of them the other one is no majority, so neither ever goes", "have three voters")
}
