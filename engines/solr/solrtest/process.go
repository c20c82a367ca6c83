package solrtest

import (
	"os/exec"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/engines/enginetest/process"
)

func (c *Cluster) java(name, version string, args ...string) *process.Process {
	classes := filepath.Join(c.home, "classes") + ":" + filepath.Join(c.home, "etc") + ":" + filepath.Join(c.home, "lib-"+version) + "/*"
	base := []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes}
	return process.Start(c.t, filepath.Join(c.dir, name+".log"), exec.Command("java", append(base, args...)...))
}
