package security

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
)

var (
	secureClients = regexp.MustCompile(`(?m)(^|\s)secureClientPort\s*=`)
	plainClients  = regexp.MustCompile(`(?m)(^|\s)clientPort\s*=`)
	// plainMembers are lines of servers that name the port for their clients, which is without TLS.
	plainMembers = regexp.MustCompile(`server\.\d+\s*=\s*[^\s;]+;\S*\d`)
	clientAuth   = regexp.MustCompile(`(?m)(?:^|\s|zookeeper\.)ssl\.clientAuth\s*=\s*(\w+)`)
)

// ensemble looks at ZooKeeper. Most keep the plain port beside the one with TLS, and then agents need
// none. What it is asked needs no login.
func ensemble(v *view) Posture {
	text, from, unseen := v.file("zoo.cfg")
	extra := v.variables["ZOO_CFG_EXTRA"]
	enabled := v.is("ZOO_TLS_CLIENT_ENABLE", yes...)
	_, number := v.variables["ZOO_PORT_NUMBER"]
	plain := number || plainClients.MatchString(text+"\n"+extra.text) || plainMembers.MatchString(text+"\n"+v.variables["ZOO_SERVERS"].text)
	for _, p := range v.container.Ports {
		plain = plain || p.ContainerPort == 2181 || p.Name == "client"
	}
	var why string
	switch {
	case enabled.State == On:
		why = enabled.Why
	case secureClients.MatchString(text):
		why = "zoo.cfg of " + from + " has a secureClientPort"
	case secureClients.MatchString(extra.text):
		why = "ZOO_CFG_EXTRA has a secureClientPort"
	}
	none := off("ZooKeeper answers agents without a login")
	p := Posture{Login: none, Client: none}
	switch {
	case why == "" && unseen != "":
		p.TLS = untold("not seen: " + unseen)
	case why == "" && enabled.Why != "" && enabled.State == Untold:
		p.TLS = enabled
	case why == "":
		p.TLS = off("nothing sets ZOO_TLS_CLIENT_ENABLE or a secureClientPort")
	case plain:
		p.TLS = off(why + ", beside a port without TLS")
	default:
		p.TLS = on(why + ", and there is no port without TLS")
		p.Client = v.clientAuth(text, from)
	}
	return p
}

// clientAuth says whether servers of ZooKeeper that speak TLS want a certificate of each client.
func (v *view) clientAuth(text, from string) Answer {
	judge := func(mode, at string) Answer {
		return whether(!slices.Contains([]string{"none", "want"}, strings.ToLower(mode)), "ssl.clientAuth is "+mode+" ("+at+")")
	}
	if m := clientAuth.FindStringSubmatch(text); m != nil {
		return judge(m[1], "zoo.cfg of "+from)
	}
	for _, name := range slices.Sorted(maps.Keys(v.variables)) {
		if m := clientAuth.FindStringSubmatch(v.variables[name].text); m != nil {
			return judge(m[1], name)
		}
	}
	if m := clientAuth.FindStringSubmatch(line(v.container)); m != nil {
		return judge(m[1], "the command line")
	}
	switch set, there := v.variables["ZOO_TLS_CLIENT_AUTH"]; {
	case there && !set.known:
		return untold(set.from)
	case there && set.text != "":
		return judge(set.text, "ZOO_TLS_CLIENT_AUTH")
	}
	return on("nothing sets ssl.clientAuth to none or want")
}

// sql looks at servers of MySQL and MariaDB that refuse connections without TLS. All of them want a
// login, of which the check of the credentials tells.
func sql(v *view) Posture {
	p := Posture{Login: on("servers of MySQL and MariaDB always want one"), Client: off("accounts say that, which cannot be seen")}
	for _, pool := range database.New([]*appsv1.StatefulSet{v.set}, v.objects).Pools {
		switch state, at := pool.Settings.Switch("require_secure_transport"); state {
		case database.On:
			p.TLS = on("require_secure_transport is ON (" + at.From + ")")
		case database.Unclear:
			p.TLS = untold("require_secure_transport is set to what only a pod knows (" + at.From + ")")
		default:
			p.TLS = off("nothing that can be seen sets require_secure_transport")
		}
	}
	return p
}
