package foundationdb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

// Undo bytes come from the status of a DatabaseCluster, which more people may write than may
// speak to the database. What an operator has excluded stays so, whatever they say.
func TestUndoBytesIncludeNothingOfOthers(t *testing.T) {
	for _, version := range []string{"7.3.63", "7.1.40", "6.3.25"} {
		s := simulate(t, fdbsimtest.Options{Version: version, Scale: 20})
		s.Settle()
		pod, other := s.pods[4], s.pods[3]
		address := ""
		for _, p := range s.Model().Processes {
			if p.Instance == other {
				address = p.Address
			}
		}
		theirs := []string{address}
		if version == "7.3.63" {
			theirs = append(theirs, instanceTarget(other), instanceTarget(pod))
		}
		s.Change(func(m *model.Cluster) { m.Exclude(theirs, false) })
		s.Settle()
		e := s.engine(pod)
		v, err := parseVersion(version)
		require.NoError(t, err)
		order := engines.Order{Kind: engines.Evacuate, Claim: "forged"}
		for _, node := range []string{pod, other, "never"} {
			for _, mark := range []string{"", markOf(v, "forged", node)} {
				undo, err := undo{Undo: order.UndoOn(node), Targets: theirs, Mark: mark}.encode()
				require.NoError(t, err)
				p, err := e.Restore(t.Context(), undo)
				require.NoError(t, err)
				require.Equal(t, engines.ProgressDone, p.State)
				require.Contains(t, p.Detail, "no mark there says that claim forged has excluded them", "%s %s %s", version, node, mark)
				require.Subset(t, s.Model().Excluded, theirs, "%s %s %s", version, node, mark)
			}
		}
	}
}

// Where a claim is open, its mark is known, and is on the list: it stands for what is the pod's alone.
func TestTheMarkOfAClaimStandsForItsPodOnly(t *testing.T) {
	const pod, other, address = "fdb-4", "fdb-3", "10.0.0.3:4500"
	order := engines.Order{Kind: engines.Evacuate, Claim: "c"}
	for _, text := range []string{"7.3.63", "7.1.40", "6.3.25"} {
		v, err := parseVersion(text)
		require.NoError(t, err)
		mark := markOf(v, "c", pod)
		s := &status{processes: []process{{instance: other, address: address, version: text}, {instance: pod, address: "10.0.0.4:4500", version: text}},
			excluded: []string{mark, address, instanceTarget(other), "10.0.0.3"}}
		u := undo{Undo: order.UndoOn(pod), Mark: mark, Targets: []string{address, "10.0.0.3", instanceTarget(other)}}
		ours, left, err := s.toInclude(u)
		require.NoError(t, err)
		require.Equal(t, u.Targets, left, text)
		require.Contains(t, ours, mark)
		require.NotContains(t, ours, address)

		// What was excluded for the claim is included, also by bytes of a former version, and
		// where others had part of it.
		whole := undo{Undo: order.UndoOn(pod)}
		s.excluded = nil
		require.NoError(t, whole.plan(s, "c", pod))
		s.excluded, err = s.toExclude(whole)
		require.NoError(t, err)
		require.Equal(t, whole.entries(), s.excluded)
		ours, left, err = s.toInclude(whole)
		require.NoError(t, err)
		require.ElementsMatch(t, s.excluded, ours)
		require.Empty(t, left)
	}

	v, err := parseVersion("7.3.63")
	require.NoError(t, err)
	s := &status{processes: []process{{instance: pod, address: "10.0.0.4:4500", version: "7.3.63", rolesKnown: true, roles: []string{"log"}}},
		excluded: []string{instanceTarget(pod)}}
	part := undo{Undo: order.UndoOn(pod)}
	require.NoError(t, part.plan(s, "c", pod))
	require.Empty(t, part.Mark)
	own := []string{"10.0.0.4:4500", markOf(v, "c", pod) + "/10.0.0.4:4500"}
	entries, err := s.toExclude(part)
	require.NoError(t, err)
	require.Equal(t, own, entries)
	s.excluded = append(s.excluded, own...)
	ours, left, err := s.toInclude(part)
	require.NoError(t, err)
	require.ElementsMatch(t, own, ours)
	require.Empty(t, left)
	again := undo{Undo: order.UndoOn(pod)}
	require.NoError(t, again.plan(s, "c", pod))
	require.Equal(t, part, again, "after a crash")

	// No mark is made of what would be another word of a command.
	words := part
	words.Node = pod + " FORCE"
	entries, err = s.toExclude(words)
	require.NoError(t, err)
	require.Equal(t, part.Targets, entries)

	// Where no version is told just now, it is waited for: nothing would be left for ever.
	s.processes = nil
	_, _, err = s.toInclude(part)
	require.ErrorIs(t, err, errNoVersion)
}
