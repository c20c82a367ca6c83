package main

import (
	"os"
	"strings"
)

// podDomain returns the domain behind the pod's name in the DNS, with a leading dot. The kubelet
// writes it into the hosts file of a pod of a StatefulSet. It is empty if the kubelet does not, as
// with hostNetwork.
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
