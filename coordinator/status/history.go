package status

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/rollcall-dev/rollcall/coordinator/journal"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Limits of the journal that is kept for each cluster: so many entries and, unless a single one is
// larger, so many bytes; less if all clusters together would have more than historiesBytes.
const (
	historyEntries = 256
	historyBytes   = 256 << 10
	historiesBytes = 8 << 20
)

// historyShare returns how many bytes each of so many clusters may have.
func historyShare(clusters int) int { return min(historyBytes, historiesBytes/max(1, clusters)) }

// history is the journal of one cluster: each decision that differed from the
// one before. It is bounded, oldest out first, and lives as long as this
// coordinator leads.
//
// Safe for concurrent use; decisions are noted one at a time and in order.
type history struct {
	mu      sync.Mutex
	last    model.Plan
	entries [][]byte // each a compressed journal.Entry
	bytes   int
	limit   int // of bytes
}

// share sets how many bytes there may be from now on.
func (h *history) share(limit int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limit = limit
	h.trim()
}

// note adds a decision if it says something new.
func (h *history) note(d Decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.entries) > 0 && !journal.Differs(h.last, d.Plan) {
		return
	}
	entry, err := pack(journal.Entry{
		At: model.At(d.DecidedAt), Epoch: d.Snapshot.Cluster.Status.Epoch, Snapshot: d.Snapshot, Plan: d.Plan,
	})
	if err != nil {
		return // a value of our own types always has a JSON form
	}
	h.last = d.Plan
	h.entries = append(h.entries, entry)
	h.bytes += len(entry)
	h.trim()
}

// trim drops the oldest. mu is held.
func (h *history) trim() {
	for len(h.entries) > 1 && (len(h.entries) > historyEntries || h.bytes > h.limit) {
		h.bytes -= len(h.entries[0])
		h.entries[0] = nil
		h.entries = h.entries[1:]
	}
}

// newest returns the last entries, still compressed, oldest first. If most is 0 it returns all.
func (h *history) newest(most int) [][]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if most > 0 && len(h.entries) > most {
		return slices.Clone(h.entries[len(h.entries)-most:])
	}
	return slices.Clone(h.entries)
}

func pack(e journal.Entry) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if err := json.NewEncoder(z).Encode(e); err != nil {
		return nil, fmt.Errorf("journal entry as JSON: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(out.Bytes()), nil // without the unused capacity of the buffer
}

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
