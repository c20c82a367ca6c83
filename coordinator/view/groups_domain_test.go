package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Who fails with whom is taken over where all say the same, else the member is unknown and fails by
// itself; a shard's minimum is the highest named.
func TestDomains(t *testing.T) {
	all := []int{0, 1, 2}
	in := made(allSay(all, func(r *rollcallv1.Report) {
		r.Groups[0].MinAvailable = 1
		for i, m := range r.Groups[0].Members {
			m.Domain = []string{"rack-a", "rack-a", "rack-b"}[i]
		}
	}))
	g := Join(in).Groups[0]
	require.EqualValues(t, 1, *g.MinAvailable)
	for i, want := range []string{"rack-a", "rack-a", "rack-b"} {
		require.Equal(t, want, g.Members[i].Domain)
		require.Equal(t, model.MemberActive, g.Members[i].State)
	}
	says(1, func(r *rollcallv1.Report) {
		r.Groups[0].MinAvailable = 2
		r.Groups[0].Members[1].Domain = "rack-c"
	})(&in)
	g = Join(in).Groups[0]
	require.EqualValues(t, 2, *g.MinAvailable)
	require.Equal(t, model.MemberUnknown, g.Members[1].State)
	require.Empty(t, g.Members[1].Domain)
	require.Equal(t, model.MemberActive, g.Members[0].State)
}
