package drain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/state"
	"github.com/rollcall-dev/rollcall/engines"
)

// lives are the processes of one pod's agent, one after the other, with what
// stays: the directory and the database.
type lives struct {
	t      *testing.T
	dir    string
	engine engines.Engine
	pod    string
	uid    string // of the cluster
	heard  bool
	// machine is which start of it this is, and when that was. Empty means unknown.
	machine string
	booted  time.Time
	*Drainer
	end func()

	mu      sync.Mutex
	applied []engines.Order
	undone  []string
	apply   func(n int) (engines.Progress, error)
	restore func(n int) (engines.Progress, error)
}

func living(t *testing.T, body func(t *testing.T, l *lives)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := &lives{t: t, dir: dir, pod: "pod-uid", uid: "cluster-uid", heard: true, machine: "first", booted: time.Now().Add(-time.Hour)}
		l.apply = func(int) (engines.Progress, error) {
			return engines.Progress{State: engines.ProgressRunning, Detail: "waiting"}, nil
		}
		l.restore = func(int) (engines.Progress, error) { return engines.Progress{State: engines.ProgressDone}, nil }
		l.engine = &agenttest.Peered{Engine: agenttest.Engine{
			OnDrain: func(_ context.Context, o engines.Order, undo []byte) (engines.Progress, error) {
				require.Equal(t, "undo", string(undo))
				l.mu.Lock()
				defer l.mu.Unlock()
				l.applied = append(l.applied, o)
				return l.apply(len(l.applied))
			},
			OnRestore: func(undo []byte) (engines.Progress, error) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.undone = append(l.undone, string(undo))
				return l.restore(len(l.undone))
			},
		}}
		l.begin()
		body(t, l)
		l.end()
	})
}

// begin is a new process.
func (l *lives) begin() {
	ctx, cancel := context.WithCancel(l.t.Context())
	d := New(ctx, testOptions(l.engine))
	d.Store = state.Store{Dir: l.dir, PodUID: l.pod}
	d.Fence.SetCluster(l.uid)
	d.Clock = func() (state.BootTime, error) {
		if l.machine == "" {
			return state.BootTime{}, errors.New("no clock")
		}
		return state.BootTime{Boot: l.machine, Since: time.Since(l.booted)}, nil
	}
	d.PeersHeard = func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.heard }
	d.Resume()
	var tasks sync.WaitGroup
	tasks.Go(d.Run)
	l.Drainer = d
	l.end = func() { cancel(); tasks.Wait() }
}

func (l *lives) again() { l.end(); l.begin() }

func (l *lives) order(limit time.Duration) Order {
	o := handoff("c", 3)
	o.Eligible, o.NotAfter = []string{"b"}, time.Now().Add(limit)
	_, err := l.Drainer.Drain(o)
	require.NoError(l.t, err)
	return o
}

func (l *lives) counts() (applied, undone int) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.applied), len(l.undone)
}

func (l *lives) kept() bool {
	_, err := os.Stat(filepath.Join(l.dir, "claim.json"))
	return err == nil
}

func (l *lives) detail() string {
	j, _ := l.Status()
	return j.Detail
}

// TestOutOfTimeIsUndone checks that if the term ends in the middle, the agent itself undoes the job
// until it succeeds, and accepts another claim only then.
func TestOutOfTimeIsUndone(t *testing.T) {
	living(t, func(t *testing.T, l *lives) {
		l.restore = func(n int) (engines.Progress, error) {
			switch {
			case n == 1:
				return engines.Progress{}, errors.New("connection reset")
			case n < 5:
				return engines.Progress{State: engines.ProgressRunning, Detail: "opening"}, nil
			}
			return engines.Progress{State: engines.ProgressDone}, nil
		}
		l.order(5 * time.Second)
		time.Sleep(4 * time.Second)
		_, undone := l.counts()
		require.Zero(t, undone, "there is time")
		for l.state() != refused {
			time.Sleep(100 * time.Millisecond)
			if _, undone := l.counts(); undone == 2 {
				require.Contains(t, l.detail(), "opening")
				words, err := l.Drainer.Drain(handoff("other", 3))
				require.NoError(t, err)
				require.Contains(t, words, "being undone")
			}
		}
		applied, undone := l.counts()
		require.Equal(t, 5, undone)
		require.Contains(t, l.detail(), "is undone")
		time.Sleep(time.Minute)
		after, undone := l.counts()
		require.Equal(t, []int{applied, 5}, []int{after, undone}, "at rest")
		require.True(t, l.startRepair(nil), "nothing is in hand")
		l.endRepair()

		l.again() // and stays so
		require.Equal(t, refused, l.state())
		words, err := l.Drainer.Drain(handoff("other", 3))
		require.NoError(t, err)
		require.Empty(t, words)
		require.Equal(t, preparing, l.state())
	})
}

// TestRefusedIsUndoneWhenItsTimeIsOver checks that the coordinator decides about a refusal as long
// as its term lasts.
func TestRefusedIsUndoneWhenItsTimeIsOver(t *testing.T) {
	living(t, func(t *testing.T, l *lives) {
		l.apply = func(int) (engines.Progress, error) {
			return engines.Progress{State: engines.ProgressRefused, Detail: "nobody can"}, nil
		}
		l.order(20 * time.Second)
		time.Sleep(15 * time.Second)
		l.order(20 * time.Second) // asked again: tried again, and there is more time
		time.Sleep(15 * time.Second)
		applied, undone := l.counts()
		require.Equal(t, []int{2, 0}, []int{applied, undone})
		time.Sleep(10 * time.Second)
		_, undone = l.counts()
		require.Equal(t, 1, undone)
		require.Equal(t, refused, l.state())
	})
}

// TestDrainedIsNotUndone checks that a drained pod stays drained until its coordinator restores it.
func TestDrainedIsNotUndone(t *testing.T) {
	living(t, func(t *testing.T, l *lives) {
		l.apply = func(int) (engines.Progress, error) { return engines.Progress{State: engines.ProgressDone}, nil }
		l.order(5 * time.Second)
		require.Equal(t, prepared, l.state())
		time.Sleep(time.Minute)
		l.again()
		time.Sleep(time.Minute)
		applied, undone := l.counts()
		require.Equal(t, []int{1, 0}, []int{applied, undone}, "its time is over: nothing is written")
		require.Equal(t, prepared, l.state())
		require.False(t, l.startRepair(nil), "a claim is open")
		_, err := l.Drainer.Restore(t.Context(), "c", 3, nil)
		require.NoError(t, err)
		require.Equal(t, none, l.state())
		require.False(t, l.kept())
	})
}

func TestJobContinuesAfterARestart(t *testing.T) {
	living(t, func(t *testing.T, l *lives) {
		o := l.order(time.Minute)
		time.Sleep(5 * time.Second)
		before, _ := l.counts()
		l.heard = false
		l.again()
		require.Equal(t, preparing, l.state(), "told at once")
		require.Equal(t, recalled, l.detail())
		time.Sleep(5 * time.Second)
		waiting, _ := l.counts()
		require.Equal(t, before, waiting, "peers were not heard")
		require.False(t, l.startRepair(nil))

		l.mu.Lock()
		l.heard, l.apply = true, func(int) (engines.Progress, error) { return engines.Progress{State: engines.ProgressDone}, nil }
		l.mu.Unlock()
		time.Sleep(time.Second)
		require.Equal(t, prepared, l.state())
		last := l.applied[len(l.applied)-1]
		require.Equal(t, o.NotAfter, last.NotAfter)
		last.NotAfter = time.Time{}
		require.Equal(t, engines.Order{Kind: engines.Handoff, Claim: "c", Eligible: []string{"b"}, Epoch: 3}, last)
		_, epoch := l.Fence.Seen()
		require.EqualValues(t, 3, epoch)
	})
}

func TestJobWhoseTimeIsOverIsUndoneAfterARestart(t *testing.T) {
	living(t, func(t *testing.T, l *lives) {
		l.order(10 * time.Second)
		time.Sleep(5 * time.Second)
		l.end()
		applied, _ := l.counts()
		time.Sleep(time.Minute)
		l.begin()
		time.Sleep(time.Second)
		after, undone := l.counts()
		require.Equal(t, []int{applied, 1}, []int{after, undone})
		require.Equal(t, refused, l.state())
		require.Equal(t, "undo", l.undone[0])
	})
}

// Where the machine's own clock does not tell for how long an order has been good,
// it is over: the wall clock may have been set.
func TestJobOfAnotherBootIsOver(t *testing.T) {
	for name, change := range map[string]func(l *lives){
		"the machine was started again": func(l *lives) { l.machine, l.booted = "second", time.Now() },
		"its clock cannot be read":      func(l *lives) { l.machine = "" },
	} {
		t.Run(name, func(t *testing.T) {
			living(t, func(t *testing.T, l *lives) {
				l.order(time.Minute)
				time.Sleep(5 * time.Second)
				l.end()
				applied, _ := l.counts()
				change(l)
				l.begin()
				time.Sleep(time.Second)
				after, undone := l.counts()
				require.Equal(t, []int{applied, 1}, []int{after, undone})
				require.Equal(t, refused, l.state())
			})
		})
	}
}

// TestHalfRestoreIsFinished checks that the agent finishes a restore that a coordinator began and
// nobody asks for again.
func TestHalfRestoreIsFinished(t *testing.T) {
	for name, restart := range map[string]bool{"same process": false, "next process": true} {
		t.Run(name, func(t *testing.T) {
			living(t, func(t *testing.T, l *lives) {
				l.restore = func(n int) (engines.Progress, error) {
					if n < 8 {
						return engines.Progress{State: engines.ProgressRunning, Detail: "opening"}, nil
					}
					return engines.Progress{State: engines.ProgressDone}, nil
				}
				l.order(time.Hour)
				time.Sleep(time.Second)
				p, err := l.Drainer.Restore(t.Context(), "c", 3, []byte("undo"))
				require.NoError(t, err)
				require.Equal(t, engines.ProgressRunning, p.State)
				applied, _ := l.counts()
				if restart {
					l.again()
				}
				time.Sleep(30 * time.Second)
				after, undone := l.counts()
				require.Equal(t, []int{applied, 8}, []int{after, undone})
				require.Equal(t, none, l.state())
				require.False(t, l.kept())
			})
		})
	}
}

// Orders find the recalled job before it is gone on with.
func TestRestoreOfAResumedJob(t *testing.T) {
	living(t, func(t *testing.T, l *lives) {
		l.order(time.Hour)
		l.heard = false
		l.again()
		applied, _ := l.counts()
		will, words, err := l.Plan(t.Context(), handoff("c", 3))
		require.NoError(t, err)
		require.Empty(t, words)
		require.Equal(t, "undo", string(will.Undo))
		_, err = l.Drainer.Restore(t.Context(), "c", 3, nil)
		require.NoError(t, err)
		require.Equal(t, none, l.state())
		l.mu.Lock()
		l.heard = true
		l.mu.Unlock()
		time.Sleep(time.Minute)
		after, undone := l.counts()
		require.Equal(t, []int{applied, 1}, []int{after, undone})
	})
}

func TestWhatIsNotResumed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lives)
		keeps  bool
	}{
		"another pod":     {func(l *lives) { l.pod = "other" }, true},
		"another cluster": {func(l *lives) { l.uid = "other" }, false},
		"another engine":  {func(l *lives) { l.engine = &agenttest.Engine{} }, false},
		"garbage": {func(l *lives) {
			require.NoError(l.t, os.WriteFile(filepath.Join(l.dir, "claim.json"), []byte("{"), 0o600))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			living(t, func(t *testing.T, l *lives) {
				l.order(time.Hour)
				applied, _ := l.counts()
				l.end()
				c.change(l)
				l.begin()
				time.Sleep(time.Minute)
				after, undone := l.counts()
				require.Equal(t, []int{applied, 0}, []int{after, undone})
				require.Equal(t, none, l.state())
				require.Equal(t, c.keeps, l.kept())
			})
		})
	}
}

// TestOthersAreNotKept checks that jobs of engines that are not Peered are not kept: only
// coordinators ask for them again.
func TestOthersAreNotKept(t *testing.T) {
	living(t, func(t *testing.T, l *lives) {
		l.end()
		l.engine = &agenttest.Engine{
			OnDrain: func(context.Context, engines.Order, []byte) (engines.Progress, error) {
				return engines.Progress{State: engines.ProgressRunning}, nil
			},
			OnRestore: func([]byte) (engines.Progress, error) {
				return engines.Progress{State: engines.ProgressRunning}, l.asked()
			},
		}
		l.begin()
		l.order(time.Hour)
		require.False(t, l.kept())
		_, err := l.Drainer.Restore(t.Context(), "c", 3, nil)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		_, undone := l.counts()
		require.Equal(t, 1, undone)
		l.again()
		require.Equal(t, none, l.state())
	})
}

func (l *lives) asked() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.undone = append(l.undone, "")
	return nil
}

// Without a directory nothing outlives the process, and nothing else is different.
func TestWithoutAStateDirectory(t *testing.T) {
	living(t, func(t *testing.T, l *lives) {
		l.dir = ""
		l.again()
		l.order(5 * time.Second)
		time.Sleep(10 * time.Second)
		require.Equal(t, refused, l.state())
		l.again()
		require.Equal(t, none, l.state())
	})
}
