package agent

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// told is the report that is sent: with what was refused lately. That is not in the
// digest, as nobody is to wake up others by being refused; it goes with the next report.
func (b *board) told(v *view, allGroups bool) *rollcallv1.Report {
	now := time.Now()
	r := v.report(now, allGroups)
	for _, refused := range b.lately.Lately() {
		r.Refusals = append(r.Refusals, &rollcallv1.Refusal{
			Pod: r.GetIdentity().GetPod(), What: refused.What, Count: refused.Count,
			Since: durationpb.New(now.Sub(refused.First)), Last: durationpb.New(now.Sub(refused.Last)), From: refused.From,
		})
	}
	return r
}
