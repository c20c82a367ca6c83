package foundationdb

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What an independent reader said of the recorded documents, who knew FoundationDB's documentation
// and sources, and nothing of this adapter nor of the list of storage servers. Where the adapter
// says something else, it says why.
var readerSays = []struct{ name, verdict, mayGo, differs string }{
	{"01-healthy", "Green", everybody, ""},
	{"02-maintenance-zone-b", "Yellow", "", byZone},
	{"03-maintenance-changed", "Yellow", "", byZone},
	{"04-storage-killed-00-000s", "Yellow", zoneB, untilMade},
	{"04-storage-killed-01-011s", "Yellow", zoneB, untilMade},
	{"04-storage-killed-02-021s", "Yellow", zoneB, untilMade},
	{"04-storage-killed-03-030s", "Yellow", zoneB, untilMade},
	{"04-storage-killed-04-039s", "Yellow", zoneB, untilMade},
	{"04-storage-killed-05-048s", "Yellow", zoneB, untilMade},
	{"04-storage-killed-06-057s", "Yellow", zoneB, untilMade},
	{"04-storage-killed-07-066s", "Yellow", zoneB, untilMade},
	{"04-storage-killed-08-075s", "Yellow", zoneB, untilMade},
	{"04-storage-killed-09-084s", "Yellow", zoneB, byTheList},
	{"05-storage-back-0-000s", "Yellow", zoneB, byTheList},
	{"05-storage-back-1-008s", "Yellow", zoneB, byTheList},
	{"05-storage-back-2-016s", "Yellow", zoneB, byTheList},
	{"05-storage-back-3-024s", "Green", everybody, ""},
	{"06-excluding", "Yellow", "", excluded},
	{"07-excluded", "Yellow", "", excluded},
	{"08-included", "Yellow", "fdb-2 fdb-5 fdb-8", byTheList},
	{"09-excluded-address", "Yellow", "", excluded},
	{"10-coordinator-moved", "Green", everybody, justNow},
	{"11-log-coordinator-killed-0-000s", "Unknown", "", ""},
	{"11-log-coordinator-killed-1-006s", "Unknown", "", ""},
	{"11-log-coordinator-killed-2-016s", "Unknown", "", ""},
	{"11-log-coordinator-killed-3-025s", "Unknown", "", ""},
	{"11-log-coordinator-killed-4-035s", "Unknown", "", ""},
	{"11-log-coordinator-killed-5-045s", "Yellow", zoneB, ""},
	{"11-log-coordinator-killed-6-054s", "Yellow", zoneB, ""},
	{"11-log-coordinator-killed-7-064s", "Yellow", zoneB, ""},
	{"11-log-coordinator-killed-8-073s", "Yellow", zoneB, ""},
	{"12-log-back", "Unknown", "", ""},
	{"13-data-distribution-off", "Unknown", "", ""},
	{"14-off-and-storage-killed-90s", "Unknown", "", ""},
	{"15-ssfailure-disabled", "Unknown", "", ""},
	{"16-locked", "Unknown", "", locked},
	{"17-all-coordinators-killed", "Red", "", ""},
}

const (
	zoneB = "fdb-1 fdb-4 fdb-7"

	byZone    = "the reader holds all during a person's maintenance; here further pods of that zone may go, which costs nothing more, and nobody else's"
	untilMade = "the reader lets the rest of the zone go; here all wait for the minute until the copies are made again, and for that to end"
	byTheList = "the reader has only the document, which looked the same when copies were missing; the list of storage servers says that none is"
	excluded  = "the reader holds a person's exclusion, and finds a restart defensible: all copies are there, and so is the tolerance; the exclusion is said, and left alone"
	justNow   = "the reader trusts the recovery at once; here it must be over for ten seconds"
	locked    = "nothing goes in either case; the lock is said before what is not known"
)

// TestRecordingsAgainstAReader checks that the adapter says what the reader said, but for the
// differences in the table, none of which lets a pod go while something is missing.
func TestRecordingsAgainstAReader(t *testing.T) {
	w := newWatcher("fdb-0")
	states := recorded(t)
	require.Len(t, states, len(readerSays))
	for i, r := range states {
		reader := readerSays[i]
		require.Equal(t, reader.name, r.name)
		o := w.look(r.status, time.Unix(int64(r.clock), 0))
		dead := func(pod string) bool { return slices.Contains(r.killed, pod) } // they have nothing to lose
		ours := slices.DeleteFunc(allowed(o, r.killed), dead)
		theirs := slices.DeleteFunc(strings.Fields(reader.mayGo), dead)
		verdict := strings.ReplaceAll(o.Health.Verdict.String(), "Recoverable", "Yellow") // no word of theirs
		same := verdict == reader.verdict && slices.Equal(ours, theirs)
		require.Equal(t, reader.differs == "", same, "%s: %s %v, the reader %s %v", r.name, o.Health.Verdict, ours, reader.verdict, theirs)
		for _, pod := range ours {
			require.True(t, slices.Contains(theirs, pod) || slices.Contains([]string{byZone, byTheList, excluded}, reader.differs), "%s: %s goes, the reader holds it", r.name, pod)
		}
	}
}
