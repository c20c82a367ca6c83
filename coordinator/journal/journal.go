package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Version of the format.
const Version = 1

// Journal is the journal of one database cluster.
type Journal struct {
	Version int `json:"version"`
	// Cluster is namespace/name.
	Cluster string  `json:"cluster"`
	Entries []Entry `json:"entries"`
}

// Entry is one decision that differed from the one before.
type Entry struct {
	At       model.Time     `json:"at"`
	Epoch    int64          `json:"epoch"`
	Snapshot model.Snapshot `json:"snapshot"`
	Plan     model.Plan     `json:"plan"`
}

// Decode reads a journal from JSON, as strictly as snapshots and plans are
// read: an error names the entry and the field.
func Decode(data []byte) (Journal, error) {
	var raw struct {
		Version *int    `json:"version"`
		Cluster *string `json:"cluster"`
		Entries []struct {
			At       model.Time      `json:"at"`
			Epoch    int64           `json:"epoch"`
			Snapshot json.RawMessage `json:"snapshot"`
			Plan     json.RawMessage `json:"plan"`
		} `json:"entries"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&raw); err != nil {
		return Journal{}, fmt.Errorf("journal: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Journal{}, errors.New("journal: trailing data")
	}
	switch {
	case raw.Version == nil:
		return Journal{}, fmt.Errorf("journal: version is missing: this program reads version %d", Version)
	case *raw.Version != Version:
		return Journal{}, fmt.Errorf("journal: version is %d: this program reads version %d", *raw.Version, Version)
	case raw.Entries == nil:
		return Journal{}, errors.New("journal: entries is missing: must be a list of decisions")
	}
	j := Journal{Version: Version, Entries: make([]Entry, 0, len(raw.Entries))}
	if raw.Cluster != nil {
		j.Cluster = *raw.Cluster
	}
	for i, r := range raw.Entries {
		e := Entry{At: r.At, Epoch: r.Epoch}
		var err error
		if e.Snapshot, err = model.Decode(r.Snapshot); err != nil {
			return Journal{}, fmt.Errorf("journal: entries[%d]: %w", i, err)
		}
		if e.Plan, err = model.DecodePlan(r.Plan); err != nil {
			return Journal{}, fmt.Errorf("journal: entries[%d]: %w", i, err)
		}
		j.Entries = append(j.Entries, e)
	}
	return j, nil
}

// Differs reports whether two plans say different things: who should go, who goes now and how, and
// which rule holds which pod. Texts, ages and forecasts, which change with every second, are no
// difference.
func Differs(a, b model.Plan) bool {
	return a.Phase != b.Phase ||
		!slices.Equal(a.Order, b.Order) ||
		!slices.EqualFunc(a.Steps, b.Steps, sameStep) ||
		!slices.EqualFunc(a.Holds, b.Holds, func(x, y model.Hold) bool {
			return x.Pod == y.Pod && x.Rule == y.Rule && x.Group == y.Group
		})
}

func sameStep(x, y model.Step) bool {
	return x.Pod == y.Pod && x.UID == y.UID && x.Unit == y.Unit && x.Action == y.Action && x.Prepare == y.Prepare &&
		x.Reason == y.Reason && x.OutsideBudget == y.OutsideBudget && x.BeforeTurn == y.BeforeTurn
}

// Replay decides an entry again. The plan is byte for byte the one in the
// entry when same is true.
func Replay(e Entry) (plan model.Plan, same bool, err error) {
	plan = policy.Decide(e.Snapshot)
	was, err := json.Marshal(e.Plan)
	if err != nil {
		return plan, false, err
	}
	is, err := json.Marshal(plan)
	if err != nil {
		return plan, false, err
	}
	return plan, bytes.Equal(was, is), nil
}
