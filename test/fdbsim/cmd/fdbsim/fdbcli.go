package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/rollcall-dev/rollcall/test/fdbsim/cli"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

// defaultVersion is the default version of fdbcli, when neither its place nor the environment say
// another.
const defaultVersion = "7.3.63"

// VersionVariable says which version of fdbcli is to be played.
const VersionVariable = "FDBSIM_VERSION"

func fdbcli(args []string) int {
	program, err := os.Executable() // a link to it says nothing of the version
	if err != nil {
		program = os.Args[0]
	}
	version, err := cliVersion(program)
	if err != nil {
		os.Stderr.WriteString("ERROR: " + err.Error() + "\n")
		return 1
	}
	p := cli.Program{
		Version: version, Stdout: os.Stdout, Stderr: os.Stderr, Open: cli.Dial,
		Deaf: func() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT) },
	}
	p.ClusterFile, p.IsDefault = clusterFile()
	return p.Run(context.Background(), args)
}

// clusterFile is the one that is used when no option names one, and whether nobody asked for it.
func clusterFile() (string, bool) {
	if file := os.Getenv("FDB_CLUSTER_FILE"); file != "" {
		return file, false
	}
	if _, err := os.Stat("fdb.cluster"); err == nil {
		return "fdb.cluster", true
	}
	return "/etc/foundationdb/fdb.cluster", true
}

var versionFolder = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// cliVersion is that of the folder in which fdbcli lies, as in a tree with one for each version, else of the environment.
func cliVersion(program string) (model.Version, error) {
	folder := filepath.Base(filepath.Dir(program))
	if versionFolder.MatchString(folder) {
		return model.ParseVersion(folder)
	}
	if v := os.Getenv(VersionVariable); v != "" {
		return model.ParseVersion(v)
	}
	return model.ParseVersion(defaultVersion)
}
