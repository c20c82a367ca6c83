package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A copy on a pod that was scaled down does not come back by a restart, and the hold says what a
// person can do.
func TestScaledDownPodIsNamed(t *testing.T) {
	s := goldenSnapshots(t)["shard_scaled_away"]
	unblocks := func() string { return Decide(s).Holds[0].Unblocks }
	require.Equal(t, "solr-2, which is not there any more, scaled out again; or its member core2 of books/s1 taken out of the database", unblocks())
	s.Groups[0].Members = append(s.Groups[0].Members, model.Member{ID: "core0", Pod: "solr-3", State: model.MemberActive})
	require.Equal(t, "solr-3, which is not there any more, scaled out again; or its member core0 of books/s1 taken out of the database", unblocks())
	s.Groups[0].Members = append(s.Groups[0].Members, model.Member{ID: "core3", Pod: "solr-1", State: model.MemberDown})
	require.Equal(t, "solr-1 back and caught up", unblocks(), "one who is there may be helped first")
}
