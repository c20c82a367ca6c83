package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	watchFile        = "/proc/sys/fs/inotify/max_user_instances"
	instancesPerNode = 10 // kubelet 6, containerd 2, kube-proxy 1
	otherInstances   = 48 // control plane 9, and what else runs
)

// WatchHint says what to set when the machine lets too few programs watch files: kubelet then fails with "too many open
// files", which nobody understands.
func WatchHint(nodes int) string {
	b, err := os.ReadFile(watchFile)
	if err != nil {
		return ""
	}
	return watchHint(strings.TrimSpace(string(b)), nodes)
}

func watchHint(limit string, nodes int) string {
	have, err := strconv.Atoi(limit)
	want := otherInstances + nodes*instancesPerNode
	if err != nil || have >= want {
		return ""
	}
	return fmt.Sprintf("the machine allows %d file watchers, which %d nodes may exceed; "+
		"if kubelet fails: sysctl -w fs.inotify.max_user_instances=%d", have, nodes, want)
}
