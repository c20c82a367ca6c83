package galera

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func TestDeparture(t *testing.T) {
	for name, c := range map[string]struct {
		members int
		node    string
		change  func(s []State)
		view    func(v *View)
		done    bool
		detail  string
	}{
		"all is well":                {3, "db-0", nil, nil, true, "the others keep 901 write sets: after more than that without it, it will need a full state transfer"},
		"for another one":            {3, "db-2", nil, nil, true, "the others keep 901 write sets"},
		"nobody keeps write sets":    {3, "db-0", func(s []State) { s[0].Cached, s[1].Cached, s[2].Cached = -1, -1, -1 }, nil, true, "it will need a full state transfer"},
		"two members":                {2, "db-0", nil, nil, false, "without db-0 1 of 2 votes would be left, and no primary component"},
		"one member":                 {1, "db-0", nil, nil, false, "without db-0 0 of 1 votes would be left"},
		"another one has left":       {3, "db-0", func(s []State) { without(s, 2); s[2] = down("db-2") }, nil, false, "without db-0 1 of 3 votes would be left"},
		"another one is still seen":  {3, "db-0", func(s []State) { s[2] = down("db-2") }, nil, false, "without db-0 1 of 3 votes would be left"},
		"another one is not known":   {3, "db-0", func(s []State) { s[2].Serving, s[2].Problem = false, "no answer in time" }, nil, false, "without db-0 1 of 3 votes would be left"},
		"five, and one has left":     {5, "db-0", func(s []State) { without(s, 4); s[4] = down("db-4") }, nil, true, ""},
		"it is a donor":              {3, "db-0", func(s []State) { s[0].Phase, s[0].Words = Donor, "Donor/Desynced" }, nil, false, "db-0 is Donor/Desynced: it is waited for"},
		"it was desynced":            {3, "db-0", func(s []State) { s[0].Desynced = 1 }, nil, false, "db-0 is Synced: it is waited for"},
		"nobody else is synced":      {3, "db-0", func(s []State) { s[1].Phase, s[2].Phase = Joined, Joined }, nil, false, "no other member is synced"},
		"the views differ":           {3, "db-0", func(s []State) { s[1].View = 8 }, nil, false, "they do not agree yet"},
		"it is cut off":              {3, "db-0", func(s []State) { without(s, 0); s[0].Primary, s[0].Ready = false, false }, nil, false, "db-0 is in no primary component"},
		"it was put out":             {3, "db-0", func(s []State) { without(s, 0); s[0].Primary, s[0].Connected, s[0].Phase = false, false, Detached }, nil, true, "it is in no component"},
		"a long transaction":         {3, "db-0", func(s []State) { s[0].Writing = 5 * time.Second }, nil, false, "a transaction with changes has been open for 5s; it is waited for up to 30s"},
		"a transaction without end":  {3, "db-0", func(s []State) { s[0].Writing = time.Hour }, func(v *View) { v.Now = v.Now.Add(30 * time.Second); age(v, 30*time.Second) }, true, ""},
		"somebody else goes first":   {3, "db-1", nil, func(v *View) { v.Others[1].Peer.Leaving = true }, true, ""},
		"it is another one's turn":   {3, "db-2", nil, func(v *View) { v.Others[0].Peer.Leaving = true }, false, "without db-2 1 of 3 votes would be left"},
		"nobody knows of the member": {3, "db-9", nil, nil, true, "it is no member"},
	} {
		t.Run(name, func(t *testing.T) {
			v := healthy(c.members, c.change)
			since := v.Now
			if c.view != nil {
				c.view(&v)
			}
			p := departure{assessment: assess(v), node: c.node, since: since, longest: 30 * time.Second}.decide()
			require.Equal(t, c.done, p.State == engines.ProgressDone, p.Detail)
			require.NotEqual(t, engines.ProgressRefused, p.State, "waiting may permit it")
			require.Contains(t, p.Detail, c.detail)
		})
	}
}

// age makes the looks of the others as new as they were.
func age(v *View, by time.Duration) {
	for i := range v.Others {
		v.Others[i].State.Looked = v.Others[i].State.Looked.Add(by)
	}
}
