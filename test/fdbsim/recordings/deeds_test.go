package recordings

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

const second = time.Second

func address(n int) string { return fmt.Sprintf("127.0.0.1:%d", 4900+n) }

// recorded is a cluster of the recorded shape: nine processes in three zones, three for storage, three with logs and the
// coordinators, three for the rest, and one shard, which takes ten seconds to copy.
func recorded(t *testing.T) *model.Cluster {
	t.Helper()
	m := model.New(model.Spec{
		Description: "rec", Version: "7.1.68", Redundancy: model.Double, Shards: 1, ShardBytes: 500 << 20,
		Address: address,
		Class:   func(n int) model.Class { return []model.Class{model.Storage, model.LogClass, model.Stateless}[n/3] },
	})
	require.NoError(t, m.SetCoordinators([]string{address(3), address(4), address(5)}, ""))
	require.True(t, m.Settle(time.Hour))
	return m
}

// stage is the recorded cluster as time goes on. The seconds of a deed are those of the recording.
type stage struct {
	t       *testing.T
	m       *model.Cluster
	compare func(state string, document []byte)
	from    time.Duration // what at counts from
}

func (s *stage) now() { s.from = s.m.Now }

// recovered lets a recovery that is due happen, and counts from it.
func (s *stage) recovered() {
	epoch := s.m.Recovery.Epoch
	for range 100 {
		s.m.Advance(100 * time.Millisecond)
		if s.m.Recovery.Epoch > epoch {
			s.now()
			return
		}
	}
	require.FailNow(s.t, "no recovery")
}

// at lets time go on until so long after what is counted from.
func (s *stage) at(seconds float64) {
	d := s.from + time.Duration(seconds*float64(second)) - s.m.Now
	require.GreaterOrEqual(s.t, d, time.Duration(0))
	s.m.Advance(d)
}

func (s *stage) look(state string) { s.compare(state, s.m.StatusJSON()) }

// play does what was done to the real cluster, and looks where it was recorded.
func (s *stage) play() {
	m := s.m
	for _, p := range m.Processes {
		m.Reboot(p.Instance)
	}
	s.recovered()
	s.at(53.7)
	s.look("01-healthy")
	m.Exclude([]string{"locality_instance_id:none", "127.0.0.1:9999"}, false)
	m.Maintain("zone-b", time.Minute)
	s.at(54.8)
	s.look("02-maintenance-zone-b")
	m.Maintain("zone-c", time.Minute)
	s.at(55)
	s.look("03-maintenance-changed")
	m.EndMaintenance()
	s.at(57.2)
	s.storageKilled()
	s.exclusions()
	s.logKilled()
	s.disabled()
	for _, n := range []string{"fdb-3", "fdb-4", "fdb-5"} {
		m.Kill(n)
	}
	m.Advance(10 * second)
	s.look("17-all-coordinators-killed")
}

func (s *stage) storageKilled() {
	m := s.m
	m.Kill("fdb-1")
	s.now()
	for i, seconds := range []float64{0, 11, 21, 30, 39, 48, 57, 66, 75, 84} {
		s.at(seconds)
		s.look(fmt.Sprintf("04-storage-killed-%02d-%03.0fs", i, seconds))
	}
	s.at(89)
	m.Start("fdb-1")
	s.now()
	for i, seconds := range []float64{0, 8, 16, 24} {
		s.at(seconds)
		s.look(fmt.Sprintf("05-storage-back-%d-%03.0fs", i, seconds))
	}
}

func (s *stage) exclusions() {
	m := s.m
	s.at(31.5)
	m.Exclude([]string{"locality_instance_id:fdb-2"}, false)
	s.at(32.5)
	s.look("06-excluding")
	s.at(46)
	require.Empty(s.t, m.InProgress())
	s.look("07-excluded")
	m.Include([]string{"locality_instance_id:fdb-2"}, false, false)
	m.Advance(0)
	s.look("08-included")
	m.Exclude([]string{address(1)}, false)
	for range 60 {
		m.Advance(second)
	}
	require.Empty(s.t, m.InProgress())
	s.look("09-excluded-address")
	m.Include(nil, false, true)
	m.Advance(25 * second)
	require.NoError(s.t, m.SetCoordinators([]string{address(0), address(4), address(5)}, ""))
	s.recovered()
	s.at(0.1)
	s.look("10-coordinator-moved")
	m.Advance(5 * second)
	require.NoError(s.t, m.SetCoordinators([]string{address(3), address(4), address(5)}, ""))
	s.recovered()
	s.at(3)
}

func (s *stage) logKilled() {
	m := s.m
	killed := m.Now
	m.Kill("fdb-4")
	s.recovered()
	s.at(0.05) // the answer took until then
	s.look("11-log-coordinator-killed-0-000s")
	s.from = killed
	for i, seconds := range []float64{6, 16, 25, 35, 45, 54, 64, 73} {
		s.at(seconds)
		s.look(fmt.Sprintf("11-log-coordinator-killed-%d-%03.0fs", i+1, seconds))
	}
	m.Start("fdb-4")
	s.recovered()
	s.at(17.2)
	s.look("12-log-back")
}

func (s *stage) disabled() {
	m := s.m
	m.SetDistribution(false)
	s.at(18.9)
	s.look("13-data-distribution-off")
	m.Kill("fdb-1")
	s.at(107.4)
	s.look("14-off-and-storage-killed-90s")
	s.at(110)
	m.Start("fdb-1")
	m.SetDistribution(true)
	m.IgnoreFailures = true
	s.at(116.7)
	s.look("15-ssfailure-disabled")
	m.IgnoreFailures = false
	m.LockUID = "2ffda204b5cdc19f37cb0ae16b06739d"
	s.at(116.9)
	s.look("16-locked")
}
