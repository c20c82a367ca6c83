package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Identity is what injection sets in the agent's container about its pod.
type Identity struct {
	Namespace string
	Cluster   string
	Pod       string
	PodUID    string
	PodIP     netip.Addr
	Node      string       // Kubernetes node; may be empty
	NodeIPs   []netip.Addr // of the node; none means not known
	Zone      string       // may be empty
	StopToken string       // empty means the stop hook refuses everybody
	Grace     time.Duration
	// Credentials is the name of the Secret with them; empty means none is mounted, or it is not
	// known.
	Credentials string
}

// DefaultGrace is Kubernetes' own terminationGracePeriodSeconds.
const DefaultGrace = 30 * time.Second

// FromEnv reads the identity; the error names every variable that is missing or
// wrong, and what would be right.
func FromEnv(getenv func(string) string) (Identity, error) {
	id := Identity{
		Namespace: getenv(EnvNamespace),
		Cluster:   getenv(EnvCluster),
		Pod:       getenv(EnvPod),
		PodUID:    getenv(EnvPodUID),
		Node:      getenv(EnvNode),
		Zone:      getenv(EnvZone),
		StopToken: getenv(EnvStopToken),
		Grace:     DefaultGrace,

		Credentials: getenv(EnvCredentialsSecret),
	}
	var errs []error
	for _, required := range []struct{ name, value, from string }{
		{EnvNamespace, id.Namespace, "metadata.namespace"},
		{EnvCluster, id.Cluster, "the label rollcall.dev/cluster"},
		{EnvPod, id.Pod, "metadata.name"},
		{EnvPodUID, id.PodUID, "metadata.uid"},
	} {
		if required.value == "" {
			errs = append(errs, fmt.Errorf("%s is empty; it must carry %s of the pod", required.name, required.from))
		}
	}
	ip, err := netip.ParseAddr(getenv(EnvPodIP))
	if err != nil || ip.IsUnspecified() {
		errs = append(errs, fmt.Errorf("%s is %q; it must be the pod's IP address (status.podIP)", EnvPodIP, getenv(EnvPodIP)))
	}
	id.PodIP = ip.Unmap()
	if text := getenv(EnvNodeIPs); text != "" {
		for part := range strings.SplitSeq(text, ",") {
			ip, err := netip.ParseAddr(strings.TrimSpace(part))
			if err != nil {
				errs = append(errs, fmt.Errorf("%s is %q; it must be the node's IP addresses with commas between (status.hostIPs), or empty", EnvNodeIPs, text))
				break
			}
			id.NodeIPs = append(id.NodeIPs, ip.Unmap())
		}
	}
	if text := getenv(EnvGraceSeconds); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil || seconds < 0 {
			errs = append(errs, fmt.Errorf("%s is %q; it must be a number of seconds, 0 or more", EnvGraceSeconds, text))
		}
		id.Grace = time.Duration(seconds) * time.Second
	}
	return id, errors.Join(errs...)
}
