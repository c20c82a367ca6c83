package solrtest

import (
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/enginetest/process"
)

func (c *Cluster) java(name, version string, args ...string) *process.Process {
	path := strings.Join([]string{c.path("classes-" + version), c.path("etc"), c.path("lib-"+version) + "/*"}, ":")
	base := []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path}
	return process.Start(c.t, filepath.Join(c.dir, name+".log"), exec.Command(c.path("java/bin/java"), append(base, args...)...))
}

func (c *Cluster) path(part string) string { return filepath.Join(c.home, part) }

// lucene is which Lucene's ways a new index follows: it is read by the major version that wrote it and by the next one.
func lucene(version string) string {
	if strings.HasPrefix(version, "8.") {
		return "8.11"
	}
	return "9.12"
}
