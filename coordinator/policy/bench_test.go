package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// bigSnapshot has pods in three zones and ten members for each of them, three
// copies to a group.
func bigSnapshot(pods int) model.Snapshot {
	s := defaultSnapshot()
	s.Now = model.At(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	s.Cluster.Namespace, s.Cluster.Name = "prod", "big"
	s.Pools = []model.Pool{{Name: "big", Replicas: int32(pods), Revision: "v2", Observed: true, Management: model.ManagementParallel, Strategy: model.StrategyOnDelete}}
	for i := range pods {
		p := defaultPod()
		p.Name, p.UID, p.Pool, p.Ordinal, p.Revision = fmt.Sprintf("big-%d", i), fmt.Sprintf("u%d", i), "big", int32(i), "v1"
		p.Zone = fmt.Sprintf("z%d", i%3)
		r := defaultReport()
		r.UID = p.UID
		p.Report = &r
		s.Pods = append(s.Pods, p)
	}
	random := uint64(1)
	next := func(n int) int {
		random = random*6364136223846793005 + 1442695040888963407
		return int((random >> 33) % uint64(n))
	}
	for i := range pods * 10 / 3 {
		g := defaultGroup()
		g.ID = fmt.Sprintf("c%05d/s%d", i/8, i%8) // sorted, as they come
		used := map[int]bool{}
		for j := range 3 {
			at := next(pods)
			for used[at] {
				at = next(pods)
			}
			used[at] = true
			m := defaultMember()
			m.ID, m.Pod, m.Leader = fmt.Sprintf("r%d", j), s.Pods[at].Name, j == 0
			g.Members = append(g.Members, m)
		}
		s.Groups = append(s.Groups, g)
	}
	return s
}

// scan reads every member once and whole, its text included, as the measure of
// what a snapshot costs.
func scan(s *model.Snapshot) (sum uint32) {
	text := func(t string) {
		for i := range len(t) {
			sum = sum*31 + uint32(t[i])
		}
	}
	for i := range s.Groups {
		for j := range s.Groups[i].Members {
			m := &s.Groups[i].Members[j]
			text(m.ID)
			text(m.Pod)
			text(string(m.State))
			sum += uint32(cluster.Count(m.Leader) + 2*cluster.Count(m.Eligible) + 4*cluster.Count(m.Progress == nil))
		}
	}
	return sum
}

// glance reads the state of every member.
func glance(s *model.Snapshot) (active uint32) {
	for i := range s.Groups {
		for j := range s.Groups[i].Members {
			active += uint32(cluster.Count(s.Groups[i].Members[j].State == model.MemberActive))
		}
	}
	return active
}

func BenchmarkScan(b *testing.B) {
	s := bigSnapshot(10_000)
	for b.Loop() {
		if scan(&s) == 0 {
			b.Fatal("nothing was read")
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, pods := range []int{10, 100, 1_000, 10_000} {
		s := bigSnapshot(pods)
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			for b.Loop() {
				if p := Decide(s); len(p.Steps) == 0 {
					b.Fatal(p.Holds[0])
				}
			}
		})
	}
}
