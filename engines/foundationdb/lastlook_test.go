package foundationdb

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// TestPlansUseTheLastLook checks that a plan right after an observation runs fdbcli no more, unless
// the look is old or failed, something has been changed since, or the plan rests on whose an
// exclusion or a maintenance is; and that a drain and a restore look for themselves.
func TestPlansUseTheLastLook(t *testing.T) {
	var e *Engine
	var dir string
	now := time.Unix(1_000_000, 0)
	begin := func(change func(document)) {
		d := healthy(t)
		if change != nil {
			change(d)
		}
		e, dir = tellingIn(t, d.text(), Options{Instance: "fdb-0"})
		e.now = func() time.Time { return now }
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, "fdb-0", o.Node, o.Health.Reason)
	}
	handoff, evacuation := engines.Order{Kind: engines.Handoff, Claim: "h"}, engines.Order{Kind: engines.Evacuate, Claim: "e"}
	looksFor := func(order engines.Order) int {
		looks := func() int {
			data, err := os.ReadFile(filepath.Join(dir, "looks"))
			require.NoError(t, err)
			return strings.Count(string(data), "\n")
		}
		before := looks()
		_, err := e.PlanSetting(t.Context(), order)
		require.NoError(t, err)
		_, err = e.PlanDrain(t.Context(), order)
		require.NoError(t, err)
		return looks() - before
	}
	begin(nil)
	require.Zero(t, looksFor(handoff))
	require.Zero(t, looksFor(evacuation))
	now = now.Add(recent)
	require.Equal(t, 1, looksFor(handoff), "it is too old, and the plan's own is new")
	now = now.Add(-time.Second)
	require.Equal(t, 1, looksFor(handoff), "the clock was set back")

	_, err := e.client.run(t.Context(), "include 10.8.0.10:4500")
	require.NoError(t, err)
	require.Equal(t, 1, looksFor(handoff), "something was changed")

	file := filepath.Join(dir, "status.json")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err = e.Observe(t.Context())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	require.Equal(t, 1, looksFor(handoff), "it failed")

	for range 2 {
		before := e.last.ended
		now = now.Add(time.Millisecond)
		_, err = e.Drain(t.Context(), evacuation, plan(t, e, evacuation))
		require.NoError(t, err)
		require.True(t, e.last.ended.After(before), "a drain looks for itself")
	}

	begin(func(d document) { d.at("cluster")["maintenance_zone"] = "rack-a" })
	require.Equal(t, 1, looksFor(handoff), "whose it is, and whether it has ended")
	begin(func(d document) {
		d.at("cluster.configuration")["excluded_servers"] = []any{map[string]any{"address": "10.8.0.12:4500"}}
	})
	require.Zero(t, looksFor(handoff))
	require.Equal(t, 1, looksFor(evacuation))
}

// TestPlansWaitForTheLookUnderWay checks that a plan that comes in the middle of a slow look needs no
// second one, and that its caller may give up.
func TestPlansWaitForTheLookUnderWay(t *testing.T) {
	e, dir := scripted(t, `echo >>$d/looks; while [ -e $d/slow ]; do sleep 0.05; done; cat $d/document; echo; cat $d/keys`, nil)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	looks := func() int {
		text, err := os.ReadFile(filepath.Join(dir, "looks"))
		if os.IsNotExist(err) {
			return 0
		}
		require.NoError(t, err)
		return strings.Count(string(text), "\n")
	}
	write("document", healthy(t).text()+"\n")
	write("keys", printedKeys())
	write("slow", "")
	var tasks sync.WaitGroup
	tasks.Go(func() {
		_, err := e.Observe(t.Context())
		assert.NoError(t, err)
	})
	require.Eventually(t, func() bool { return looks() == 1 }, 10*time.Second, time.Millisecond)
	impatient, giveUp := context.WithCancel(t.Context())
	giveUp()
	_, err := e.PlanSetting(impatient, engines.Order{Kind: engines.Handoff, Claim: "c"})
	require.ErrorIs(t, err, context.Canceled)
	tasks.Go(func() {
		_, err := e.PlanSetting(t.Context(), engines.Order{Kind: engines.Handoff, Claim: "c"})
		assert.NoError(t, err)
	})
	time.Sleep(50 * time.Millisecond) // where it comes later, it finds the look that has just ended
	require.NoError(t, os.Remove(filepath.Join(dir, "slow")))
	tasks.Wait()
	require.Equal(t, 1, looks())
}

// TestOneRunForALook checks that a look is one run of fdbcli, whatever the keys and the lines of the
// document are, and that fdbcli is not waited for where there is no database to list anything.
func TestOneRunForALook(t *testing.T) {
	e, dir := scripted(t, `echo "$4" >>$d/runs; echo ">>> status json"; cat $d/document; echo; cat $d/keys; [ ! -e $d/hangs ] || exec sleep 1000`, nil)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	brackets := []string{"5b5b5b5b5b5b5b5b", "7b7b7b7b22222222"} // of a list, an object and a text
	for i := range 200 {
		brackets = append(brackets, fmt.Sprintf("%08x5b5b7b7b", i))
	}
	write("keys", printedKeys(brackets...))
	indented, err := json.MarshalIndent(healthy(t), "", "  ")
	require.NoError(t, err)
	long := healthy(t)
	long.at("cluster")["layers"] = map[string]any{">>> option on": strings.Repeat("x", 100_000)}
	for i, document := range []string{healthy(t).text(), string(indented), long.text()} {
		write("document", document)
		s, err := e.client.status(t.Context())
		require.NoError(t, err)
		require.Len(t, s.processes, 4)
		require.True(t, s.list.read, s.list.why)
		require.Len(t, s.list.ids, len(brackets))
		runs, err := os.ReadFile(filepath.Join(dir, "runs"))
		require.NoError(t, err)
		require.Equal(t, strings.Repeat(`status json; option on READ_SYSTEM_KEYS; option on LOCK_AWARE; option on TIMEOUT \xd0\x07\x00\x00\x00\x00\x00\x00; getrangekeys \xff/serverList/ \xff/serverList0 2000`+"\n", i+1), string(runs))
	}

	down := healthy(t)
	down.at("client.database_status")["available"] = false
	write("document", down.text())
	write("keys", ">>> option on READ_SYSTEM_KEYS\n")
	write("hangs", "")
	began := time.Now()
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, engines.VerdictRed, o.Health.Verdict, o.Health.Reason)
	require.Less(t, time.Since(began), e.options.Timeout, "fdbcli is ended")
}

// TestSlowLooks checks that a look that its caller's time is too short for says what was missing, and
// that one that its caller gave up says nothing.
func TestSlowLooks(t *testing.T) {
	for script, want := range map[string]string{
		"sleep 1000":                       "status: fdbcli did not answer in time",
		"cat $d/document; exec sleep 1000": "the list of storage servers was not read in time",
		`if [ "${4#status}" = "$4" ]; then exec sleep 1000; fi; cat $d/document; echo; cat $d/keys`: "the list of storage servers was not read in time",
	} {
		e, dir := scripted(t, script, nil)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "document"), []byte(healthy(t).text()+"\n"), 0o600))
		full := make([]string, serversAtOnce)
		for i := range full {
			full[i] = fmt.Sprintf("%016x", i)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "keys"), []byte(printedKeys(full...)), 0o600))
		o := engines.Observation{}
		for limit := 2 * time.Second; limit < time.Minute && !strings.Contains(o.Health.Reason, want); limit *= 2 { // of a slow machine
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			var err error
			o, err = e.Observe(ctx)
			require.NoError(t, err)
			require.NoError(t, ctx.Err(), "before its end")
			cancel()
		}
		require.Equal(t, engines.VerdictUnknown, o.Health.Verdict)
		require.Contains(t, o.Health.Reason, want)

		ctx, giveUp := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, giveUp)
		_, err := e.Observe(ctx)
		require.ErrorIs(t, err, context.Canceled)
	}
}
