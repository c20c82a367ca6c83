package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
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

// store keeps what must outlive the agent's process but not its pod, in an
// emptyDir. With an empty directory it keeps nothing.
type store struct {
	dir    string
	podUID string
}

const (
	recordFile = "stop.json"
	podFile    = "pod"
)

func (s store) enabled() bool { return s.dir != "" }

// load answers the record of this pod, or none.
func (s store) load() (record, bool, error) {
	if !s.enabled() {
		return record{}, false, nil
	}
	data, err := os.ReadFile(filepath.Join(s.dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, fmt.Errorf("state: %w", err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, false, fmt.Errorf("state: %s is not readable: %w", recordFile, err)
	}
	return r, r.PodUID == s.podUID, nil
}

func (s store) save(r record) error {
	if !s.enabled() {
		return nil
	}
	r.PodUID = s.podUID
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return s.write(recordFile, data)
}

func (s store) clear() error {
	if !s.enabled() {
		return nil
	}
	if err := os.Remove(filepath.Join(s.dir, recordFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
