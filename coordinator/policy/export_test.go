package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"
import "testing"

// What the tests outside of this package (policy_test) use of it. They are outside because the
// naive twin that they ask imports this package.

// Generator makes random snapshots.
type Generator = generator

// NewGenerator always makes the same snapshots from a seed.
var NewGenerator = newGenerator

// Noon is when every random snapshot is taken.
var Noon = noon

// Broken is the field that makes no sense, if there is one.
func (g generator) Broken() string { return g.broken }

// Snapshot returns the drawn snapshot.
func (g *generator) Snapshot() model.Snapshot { return g.snapshot() }

// ClaimedByPartition claims pods that go by the partition, several at once.
func (g generator) ClaimedByPartition(s *model.Snapshot) []model.Claim {
	return g.claimedByPartition(s)
}

// BrokenBelow adds corrections below the partition.
func (g generator) BrokenBelow(s *model.Snapshot) { g.brokenBelow(s) }

// ClaimedBelow returns claims on some pods that are to be freed by lowering the partition.
func (g generator) ClaimedBelow(s *model.Snapshot) []model.Claim { return g.claimedBelow(s) }

// Snapshots is the number of snapshots on which the properties are tested.
func Snapshots() int { return *snapshots }

// EachSnapshot runs a property on many random snapshots.
func EachSnapshot(t *testing.T, property func(*testing.T, Generator, model.Snapshot)) {
	eachSnapshot(t, property)
}

// SomeSnapshots runs it on every step-th of a number of random snapshots.
func SomeSnapshots(t *testing.T, number, from, step int, property func(*testing.T, Generator, model.Snapshot)) {
	someSnapshots(t, number, from, step, property)
}

// RequireSound requires what holds of every plan.
func RequireSound(t testing.TB, s model.Snapshot, p model.Plan) { requireSound(t, s, p) }

// WithoutVersions removes the versions.
func WithoutVersions(s *model.Snapshot) { withoutVersions(s) }

// GoldenSnapshots are those of the scripts in testdata, by their names.
func GoldenSnapshots(t testing.TB) map[string]model.Snapshot { return goldenSnapshots(t) }
