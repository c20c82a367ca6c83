package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Stop is what the stop hook did without a claim. The agent has to undo it if the
// database comes back in this same pod.
type Stop struct {
	PodUID string `json:"podUID"`
	// Undo has one entry per drain, in the order in which they were done.
	Undo    [][]byte      `json:"undo"`
	Started time.Time     `json:"started"`
	Grace   time.Duration `json:"grace"`
}

// Claim is a claim's job as the next process needs to know it.
type Claim struct {
	PodUID     string       `json:"podUID"`
	ClusterUID string       `json:"clusterUID"`
	Claim      string       `json:"claim"`
	Epoch      int64        `json:"epoch"`
	Kind       engines.Kind `json:"kind"`
	Eligible   []string     `json:"eligible,omitempty"`
	Undo       []byte       `json:"undo,omitempty"`
	// Until is the end of the order's term. Nil means unknown, and so over.
	Until *BootTime `json:"until,omitempty"`
	// As in drain.Job.
	Drained   bool `json:"drained,omitempty"`
	Undoing   bool `json:"undoing,omitempty"`
	Restoring bool `json:"restoring,omitempty"`
	Undone    bool `json:"undone,omitempty"`
	// KeepWrites is that of the order.
	KeepWrites bool `json:"keepWrites,omitempty"`
}

// Calls are the newest calls of the stop hook that had something handed over.
type Calls struct {
	PodUID    string `json:"podUID"`
	Known     *Call  `json:"known,omitempty"`
	Elsewhere *Call  `json:"elsewhere,omitempty"`
}

// Call is one of them.
type Call struct {
	Began BootTime `json:"began"`
	Ended bool     `json:"ended,omitempty"`
}

// Store keeps what must outlive the agent's process but not its pod, in an emptyDir.
// Without a directory it keeps nothing.
type Store struct {
	Dir    string
	PodUID string
}

const (
	stopFile  = "stop.json"
	callsFile = "calls.json"
	claimFile = "claim.json"
	podFile   = "pod"
	runFile   = "run.json"
)

func (s Store) enabled() bool { return s.Dir != "" }

// LoadStop returns the record of this pod, if there is one.
func (s Store) LoadStop() (Stop, bool, error) {
	return load(s, stopFile, func(r Stop) string { return r.PodUID })
}

func (s Store) SaveStop(r Stop) error {
	r.PodUID = s.PodUID
	return s.put(stopFile, r)
}

func (s Store) ClearStop() error { return s.remove(stopFile) }

// LoadCalls returns the calls of this pod's stop hook, if there were any.
func (s Store) LoadCalls() (Calls, bool, error) {
	return load(s, callsFile, func(r Calls) string { return r.PodUID })
}

func (s Store) SaveCalls(r Calls) error {
	r.PodUID = s.PodUID
	return s.put(callsFile, r)
}

// LoadClaim returns the job of an earlier agent of this pod, if there is one.
func (s Store) LoadClaim() (Claim, bool, error) {
	return load(s, claimFile, func(r Claim) string { return r.PodUID })
}

func (s Store) SaveClaim(r Claim) error {
	r.PodUID = s.PodUID
	return s.put(claimFile, r)
}

func (s Store) ClearClaim() error { return s.remove(claimFile) }

// runRecord is the newest run of the agent.
type runRecord struct {
	PodUID      string `json:"podUID"`
	Incarnation uint64 `json:"incarnation"`
}

// NextRun numbers this run of the agent higher than all earlier runs in this pod,
// whatever the clock did meanwhile. Without a readable directory it has only the
// clock.
func (s Store) NextRun(now time.Time) (uint64, error) {
	next := runRecord{PodUID: s.PodUID, Incarnation: uint64(max(1, now.UnixNano()))}
	var last runRecord
	unread := s.read(runFile, &last)
	if unread == nil && last.PodUID == s.PodUID {
		next.Incarnation = max(next.Incarnation, last.Incarnation+1)
	}
	return next.Incarnation, errors.Join(unread, s.put(runFile, next))
}

// load returns a record and whether it is of this pod.
func load[Record any](s Store, file string, podUID func(Record) string) (r Record, ours bool, err error) {
	if err := s.read(file, &r); err != nil {
		var none Record
		return none, false, err // not the part that could be read
	}
	uid := podUID(r)
	return r, uid != "" && uid == s.PodUID, nil
}

// read leaves the value unchanged if there is no such file.
func (s Store) read(name string, value any) error {
	if !s.enabled() {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(s.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("state: %s is not readable: %w", name, err)
	}
	return nil
}

func (s Store) put(name string, value any) error {
	if !s.enabled() {
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return s.write(name, data)
}

func (s Store) remove(name string) error {
	if !s.enabled() {
		return nil
	}
	if err := os.Remove(filepath.Join(s.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

// FirstOfPod reports whether no agent of this pod has finished its sweep before.
// Without a directory nobody can know, and the answer is no.
func (s Store) FirstOfPod() bool {
	if !s.enabled() {
		return false
	}
	data, err := os.ReadFile(filepath.Join(s.Dir, podFile))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return string(data) != s.PodUID
}

func (s Store) MarkPod() error {
	if !s.enabled() {
		return nil
	}
	return s.write(podFile, []byte(s.PodUID))
}

// write replaces a file atomically.
func (s Store) write(name string, data []byte) error {
	temporary := filepath.Join(s.Dir, "."+name)
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if err := os.Rename(temporary, filepath.Join(s.Dir, name)); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}
