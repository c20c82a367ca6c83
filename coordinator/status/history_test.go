package status

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/journal"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/race"
)

func entriesOf(t *testing.T, b *Board, key Key, most int) []journal.Entry {
	t.Helper()
	var out []journal.Entry
	require.NoError(t, b.Journal(key, most, func(data []byte) error {
		var e journal.Entry
		out = append(out, e)
		return json.Unmarshal(data, &out[len(out)-1])
	}))
	return out
}

func TestTheJournalNotesWhatDiffers(t *testing.T) {
	d := search(t)
	b := leading(d)
	later := d
	later.DecidedAt = d.DecidedAt.Add(time.Minute)
	b.Publish(later) // says the same
	changed := search(t, claimed(model.PhaseDraining))
	b.Publish(changed)
	entries := entriesOf(t, b, d.Key, 0)
	require.Len(t, entries, 2)
	require.Equal(t, int64(12), entries[0].Epoch)
	require.WithinDuration(t, d.DecidedAt, entries[0].At.Time, 0)
	for _, e := range entries {
		_, same, err := journal.Replay(e)
		require.NoError(t, err)
		require.True(t, same, "deciding again gives the same")
	}
	require.Len(t, entriesOf(t, b, d.Key, 1), 1)
	require.Equal(t, entries[1].Plan.Holds, entriesOf(t, b, d.Key, 1)[0].Plan.Holds, "the newest")
	require.Empty(t, entriesOf(t, b, Key{Name: "other"}, 0))

	stop := errors.New("enough")
	require.ErrorIs(t, b.Journal(d.Key, 0, func([]byte) error { return stop }), stop)

	b.Follow("")
	require.Empty(t, entriesOf(t, b, d.Key, 0), "a standby shows nothing of before")
}

// All journals together are bounded, too, however many clusters there are.
func TestJournalsShareTheirRoom(t *testing.T) {
	race.Heavy(t)
	const clusters = 40
	b := leading()
	for i := range 30 {
		for c := range clusters {
			d := search(t)
			d.Key.Name = fmt.Sprint(c)
			d.Plan.Order = []string{fmt.Sprint(i)}
			for h := range 200 { // that a compressor makes nothing of
				d.Plan.Holds = append(d.Plan.Holds, model.Hold{Pod: fmt.Sprint(h), Reason: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i, c, h)))})
			}
			b.Publish(d)
		}
	}
	total := 0
	for c := range clusters {
		for _, entry := range b.histories[Key{Namespace: "prod", Name: fmt.Sprint(c)}].newest(0) {
			total += len(entry)
		}
	}
	require.Greater(t, total, historiesBytes/2)
	require.LessOrEqual(t, total, historiesBytes)
}

func TestTheJournalIsBounded(t *testing.T) {
	h := &history{limit: historyShare(1)}
	d := search(t)
	for i := range historyEntries + 10 {
		d.Plan.Order = []string{fmt.Sprint(i)}
		h.note(d)
	}
	require.LessOrEqual(t, len(h.entries), historyEntries)
	total := 0
	for _, e := range h.entries {
		total += len(e)
	}
	require.Equal(t, total, h.bytes)
	require.LessOrEqual(t, h.bytes, historyBytes)
	require.Equal(t, historyBytes, historyShare(1))
	require.Equal(t, historiesBytes/100, historyShare(100))
	h.share(len(h.entries[len(h.entries)-1]) + len(h.entries[len(h.entries)-2]))
	require.Len(t, h.entries, 2, "others want their share")

	var first journal.Entry
	data, err := unpack(h.newest(0)[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &first))
	require.NotEqual(t, []string{"0"}, first.Plan.Order, "the oldest went")

	// One that is too large for all is kept by itself.
	for range 3000 {
		d.Plan.Holds = append(d.Plan.Holds, model.Hold{Pod: fmt.Sprintf("%x", time.Now().UnixNano()), Reason: fmt.Sprint(time.Now())})
	}
	for range 20 {
		d.Snapshot.Groups = append(d.Snapshot.Groups, d.Snapshot.Groups...)
		if len(d.Snapshot.Groups) > 1<<12 {
			break
		}
	}
	h.note(d)
	require.NotEmpty(t, h.entries)
}
