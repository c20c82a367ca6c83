package main

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

func TestPaceIsThatOfARealServerUnlessAsked(t *testing.T) {
	read := func(args ...string) model.Pace {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		pace := model.DefaultPace
		paceFlags(flags, &pace)
		require.NoError(t, flags.Parse(args))
		return pace
	}
	require.Equal(t, model.DefaultPace, read())
	want := model.DefaultPace
	want.Heal, want.Initialize, want.Look, want.Enlist, want.StatusDelay = 10*time.Second, 5*time.Second, time.Second, 2*time.Second, 6700*time.Millisecond
	require.Equal(t, want, read("-heal=10s", "-initialize=5s", "-look=1s", "-enlist=2s", "-status-delay=6.7s"))
}
