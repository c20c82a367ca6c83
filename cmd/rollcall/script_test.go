package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
)

func TestMain(m *testing.M) {
	cli.Patience, cli.CompletionTimeout = 2*time.Minute, 2*time.Minute
	program := func() { os.Exit(rollcall()) }
	testscript.Main(m, map[string]func(){"rollcall": program, "kubectl-rollcall": program})
}

// TestScripts runs the program as people do. None of the scripts needs a
// cluster; with
// UPDATE_SCRIPTS set, the outputs that they compare with are rewritten.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			// Do not use the kubeconfig of the user who runs the tests.
			env.Setenv("KUBECONFIG", env.WorkDir+"/none")
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": exitStatus,
		},
	})
}

// exitStatus runs a program and checks its exit status: status 2 rollcall plan ...
func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM [ARG...]")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = exitCode(err)
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

func exitCode(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}
