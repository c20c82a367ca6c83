package agents

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/agent/door"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// mostTold is how many refusals of one database are reported to people.
const mostTold = 32

// Refusals returns what was refused lately about a database: by its agents, as far as they report
// it, and of their own messages. The newest come first.
func (a *Agents) Refusals(key Key) []*rollcallv1.Refusal {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.clusters[key]
	if c == nil {
		return nil
	}
	var out []*rollcallv1.Refusal
	for _, g := range c.agents {
		out = append(out, Told(g.target.Pod, &g.lately)...)
		for _, r := range g.received.Report.GetRefusals() {
			// An agent reports for its own pod.
			out = append(out, &rollcallv1.Refusal{
				Pod: g.target.Pod, What: bounded(r.GetWhat()), Count: r.GetCount(), Since: r.GetSince(), Last: r.GetLast(), From: bounded(r.GetFrom()),
			})
		}
	}
	slices.SortFunc(out, func(a, b *rollcallv1.Refusal) int {
		return cmp.Or(cmp.Compare(a.GetLast().AsDuration(), b.GetLast().AsDuration()), cmp.Compare(a.GetPod(), b.GetPod()), cmp.Compare(a.GetWhat(), b.GetWhat()))
	})
	return out[:min(len(out), mostTold)]
}

// Told returns what a program has refused, for people. pod is the refused one. It is empty if the
// database has no such pod.
func Told(pod string, lately *door.Refusals) (out []*rollcallv1.Refusal) {
	now := time.Now()
	for _, r := range lately.Lately() {
		told := &rollcallv1.Refusal{
			Pod: pod, What: r.What, Count: r.Count, From: r.From,
			Since: durationpb.New(now.Sub(r.First)), Last: durationpb.New(now.Sub(r.Last)),
		}
		if pod == "" {
			told.From = "" // only those who may read the coordinator's log see that
		}
		out = append(out, told)
	}
	return out
}

// bounded limits the length of an agent's text.
func bounded(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), door.MaxOrigin)], "")
}
