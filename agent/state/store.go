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

// record is what the stop hook did without a claim, and so has to undo itself
// should the database come back in this same pod.
type Stop struct {
	PodUID string `json:"podUID"`
	// Undo holds one entry for each drain, in the order in which they were done.
	Undo    [][]byte      `json:"undo"`
	Started time.Time     `json:"started"`
	Grace   time.Duration `json:"grace"`
}

// claimRecord is a claim's job as the next process has to know it.
type Claim struct {
	PodUID     string       `json:"podUID"`
	ClusterUID string       `json:"clusterUID"`
	Claim      string       `json:"claim"`
	Epoch      int64        `json:"epoch"`
	Kind       engines.Kind `json:"kind"`
	Eligible   []string     `json:"eligible,omitempty"`
	Undo       []byte       `json:"undo,omitempty"`
	// Until when it is good. None: not known, so it is over.
	Until *BootTime `json:"until,omitempty"`
	// As of a job.
	Drained   bool `json:"drained,omitempty"`
	Undoing   bool `json:"undoing,omitempty"`
	Restoring bool `json:"restoring,omitempty"`
	Undone    bool `json:"undone,omitempty"`
}

// callsRecord is which calls of the stop hook had something handed over last.
type Calls struct {
	PodUID    string `json:"podUID"`
	Known     *Call  `json:"known,omitempty"`
	Elsewhere *Call  `json:"elsewhere,omitempty"`
}

type Call struct {
	Began BootTime `json:"began"`
	Ended bool     `json:"ended,omitempty"`
}

// store keeps what must outlive the agent's process but not its pod, in an
// emptyDir. With an empty directory it keeps nothing.
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

// load answers the record of this pod, or none.
func (s Store) LoadStop() (Stop, bool, error) {
	var r Stop
	if err := s.read(stopFile, &r); err != nil {
		return Stop{}, false, err // the part that could be read is no record
	}
	return r, r.PodUID != "" && r.PodUID == s.PodUID, nil
}

func (s Store) SaveStop(r Stop) error {
	r.PodUID = s.PodUID
	return s.put(stopFile, r)
}

func (s Store) ClearStop() error { return s.remove(stopFile) }

// loadCalls answers the calls of this pod's stop hook, or none.
func (s Store) LoadCalls() (Calls, bool, error) {
	var r Calls
	if err := s.read(callsFile, &r); err != nil {
		return Calls{}, false, err // the part that could be read is no record
	}
	return r, r.PodUID != "" && r.PodUID == s.PodUID, nil
}

func (s Store) SaveCalls(r Calls) error {
	r.PodUID = s.PodUID
	return s.put(callsFile, r)
}

// loadClaim answers the job of an earlier agent of this pod, or none.
func (s Store) LoadClaim() (Claim, bool, error) {
	var r Claim
	if err := s.read(claimFile, &r); err != nil {
		return Claim{}, false, err // the part that could be read is no record
	}
	return r, r.PodUID != "" && r.PodUID == s.PodUID, nil
}

func (s Store) SaveClaim(r Claim) error {
	r.PodUID = s.PodUID
	return s.put(claimFile, r)
}

// runRecord is the newest run of the agent.
type runRecord struct {
	PodUID      string `json:"podUID"`
	Incarnation uint64 `json:"incarnation"`
}

// nextRun numbers this run of the agent: higher than all before in this pod,
// whatever the clock did meanwhile. Without a directory, or when it is not to be
// read, only the clock is there to go by.
func (s Store) NextRun(now time.Time) (uint64, error) {
	next := runRecord{PodUID: s.PodUID, Incarnation: uint64(max(1, now.UnixNano()))}
	var last runRecord
	unread := s.read(runFile, &last)
	if unread == nil && last.PodUID == s.PodUID {
		next.Incarnation = max(next.Incarnation, last.Incarnation+1)
	}
	return next.Incarnation, errors.Join(unread, s.put(runFile, next))
}

func (s Store) ClearClaim() error { return s.remove(claimFile) }

// read leaves the value as it is when there is no such file.
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

// firstOfPod tells whether no agent of this pod has finished its sweep before.
// Without a directory that cannot be known, and the answer is no.
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

// write replaces a file as a whole.
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
