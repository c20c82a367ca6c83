package main

import (
	"os"
	"strings"
)

// podDomain is what follows the pod's name in its own name in the DNS, with the dot
// before it: the kubelet writes both into the hosts file of a pod of a StatefulSet.
// Empty where it does not, as with hostNetwork.
func podDomain() string {
	hostname, err := os.Hostname()
	if err != nil {
		return ""
	}
	hosts, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return ""
	}
	return domainIn(string(hosts), hostname)
}

func domainIn(hosts, hostname string) string {
	for line := range strings.Lines(hosts) {
		text, _, _ := strings.Cut(line, "#")
		fields := strings.Fields(text)
		for _, name := range fields[min(1, len(fields)):] {
			if domain, ok := strings.CutPrefix(name, hostname+"."); ok && domain != "" && hostname != "localhost" {
				return "." + strings.TrimSuffix(domain, ".")
			}
		}
	}
	return ""
}
