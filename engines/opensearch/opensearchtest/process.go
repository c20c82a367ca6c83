package opensearchtest

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/rollcall-dev/rollcall/engines/enginetest/process"
)

func (c *Cluster) run(log, dir, java string, env, args []string) *process.Process {
	cmd := exec.Command(java, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = attributes(os.Geteuid())
	return process.Start(c.t, log, cmd)
}

// attributes returns the attributes of the process. OpenSearch refuses to run as root, so it runs
// in a user namespace where root has another number, and files are as readable as before.
func attributes(uid int) *syscall.SysProcAttr {
	if uid != 0 {
		return nil
	}
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getegid(), Size: 1}},
	}
}
