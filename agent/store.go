package agent

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
type record struct {
	PodUID string `json:"podUID"`
	// Undo holds one entry for each drain, in the order in which they were done.
	Undo    [][]byte      `json:"undo"`
	Started time.Time     `json:"started"`
	Grace   time.Duration `json:"grace"`
}

// claimRecord is a claim's job as the next process has to know it.
type claimRecord struct {
	PodUID     string       `json:"podUID"`
	ClusterUID string       `json:"clusterUID"`
	Claim      string       `json:"claim"`
	Epoch      int64        `json:"epoch"`
	Kind       engines.Kind `json:"kind"`
	Eligible   []string     `json:"eligible,omitempty"`
	Undo       []byte       `json:"undo,omitempty"`
	// Until when it is good. None: not known, so it is over.
	Until *bootTime `json:"until,omitempty"`
	// As of a job.
	Reached  bool `json:"reached,omitempty"`
	Resting  bool `json:"resting,omitempty"`
	Restored bool `json:"restored,omitempty"`
	Rested   bool `json:"rested,omitempty"`
}

// callsRecord is which calls of the stop hook had something handed over last.
type callsRecord struct {
	PodUID    string    `json:"podUID"`
	Known     *keptCall `json:"known,omitempty"`
	Elsewhere *keptCall `json:"elsewhere,omitempty"`
}

type keptCall struct {
	Began bootTime `json:"began"`
	Ended bool     `json:"ended,omitempty"`
}

// store keeps what must outlive the agent's process but not its pod, in an
// emptyDir. With an empty directory it keeps nothing.
type store struct {
	dir    string
	podUID string
}

const (
	recordFile = "stop.json"
	callsFile  = "calls.json"
	claimFile  = "claim.json"
	podFile    = "pod"
	runFile    = "run.json"
)

func (s store) enabled() bool { return s.dir != "" }

// load answers the record of this pod, or none.
func (s store) load() (record, bool, error) {
	var r record
	if err := s.read(recordFile, &r); err != nil {
		return record{}, false, err // the part that could be read is no record
	}
	return r, r.PodUID != "" && r.PodUID == s.podUID, nil
}

func (s store) save(r record) error {
	r.PodUID = s.podUID
	return s.put(recordFile, r)
}

func (s store) clear() error { return s.remove(recordFile) }

// loadCalls answers the calls of this pod's stop hook, or none.
func (s store) loadCalls() (callsRecord, bool, error) {
	var r callsRecord
	if err := s.read(callsFile, &r); err != nil {
		return callsRecord{}, false, err // the part that could be read is no record
	}
	return r, r.PodUID != "" && r.PodUID == s.podUID, nil
}

func (s store) saveCalls(r callsRecord) error {
	r.PodUID = s.podUID
	return s.put(callsFile, r)
}

// loadClaim answers the job of an earlier agent of this pod, or none.
func (s store) loadClaim() (claimRecord, bool, error) {
	var r claimRecord
	if err := s.read(claimFile, &r); err != nil {
		return claimRecord{}, false, err // the part that could be read is no record
	}
	return r, r.PodUID != "" && r.PodUID == s.podUID, nil
}

func (s store) saveClaim(r claimRecord) error {
	r.PodUID = s.podUID
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
func (s store) nextRun(now time.Time) (uint64, error) {
	next := runRecord{PodUID: s.podUID, Incarnation: uint64(max(1, now.UnixNano()))}
	var last runRecord
	unread := s.read(runFile, &last)
	if unread == nil && last.PodUID == s.podUID {
		next.Incarnation = max(next.Incarnation, last.Incarnation+1)
	}
	return next.Incarnation, errors.Join(unread, s.put(runFile, next))
}

func (s store) clearClaim() error { return s.remove(claimFile) }

// read leaves the value as it is when there is no such file.
func (s store) read(name string, value any) error {
	if !s.enabled() {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(s.dir, name))
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

func (s store) put(name string, value any) error {
	if !s.enabled() {
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return s.write(name, data)
}

func (s store) remove(name string) error {
	if !s.enabled() {
		return nil
	}
	if err := os.Remove(filepath.Join(s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

// firstOfPod tells whether no agent of this pod has finished its sweep before.
// Without a directory that cannot be known, and the answer is no.
func (s store) firstOfPod() bool {
	if !s.enabled() {
		return false
	}
	data, err := os.ReadFile(filepath.Join(s.dir, podFile))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return string(data) != s.podUID
}

func (s store) markPod() error {
	if !s.enabled() {
		return nil
	}
	return s.write(podFile, []byte(s.podUID))
}

// write replaces a file as a whole.
func (s store) write(name string, data []byte) error {
	temporary := filepath.Join(s.dir, "."+name)
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if err := os.Rename(temporary, filepath.Join(s.dir, name)); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}
