package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// played is what all worlds have in common that are played to their end: a snapshot, and its report
// texts.
type played struct {
	at    *model.Snapshot
	made  int // pods, and claims
	fault string
	log   *strings.Builder
}

func (w *played) claimOf(pod string) int {
	return slices.IndexFunc(w.at.Cluster.Status.Claims, func(c model.Claim) bool { return c.Pod == pod })
}

func (w *played) say(format string, args ...any) {
	if w.log != nil {
		fmt.Fprintf(w.log, "\n\t"+format, args...)
	}
}

func (w *played) wrong(format string, args ...any) {
	w.fault = fmt.Sprintf(format, args...)
	w.say("%s", w.fault)
}

// pursueAll does the next thing about each claim; then is called after each.
func (w *played) pursueAll(pursue func(model.Claim) (acted, over bool), then func(acted bool)) (acted bool) {
	claims := &w.at.Cluster.Status.Claims
	for _, claim := range slices.Clone(*claims) {
		did, over := pursue(claim)
		if over {
			*claims = slices.DeleteFunc(*claims, func(c model.Claim) bool { return c.ID == claim.ID })
		}
		then(did)
		acted = acted || did
	}
	return acted
}

// seen changes with the pods.
func (w *played) seen() string {
	var b strings.Builder
	for i := range w.at.Pods {
		b.WriteString(w.at.Pods[i].UID + string(w.at.Pods[i].Phase))
	}
	return b.String()
}

// until plays until nothing happens any more, although what is held for long is given up, and
// clocks go on. seen changes with everything but claims. step reports whether anything was done,
// and elect follows what is changed here.
func (w *played) until(seen func() string, step func() (acted bool), elect func()) {
	for idle, passes := 0, 0; idle < 6 && w.fault == ""; passes++ {
		if passes > 200 {
			w.wrong("it does not end")
		}
		before := seen()
		acted := step()
		switch {
		case seen() != before:
			idle = 0
		case acted && idle > 0:
			idle++
		case !acted:
			w.at.Cluster.Status.Claims = slices.DeleteFunc(w.at.Cluster.Status.Claims, func(c model.Claim) bool {
				return slices.ContainsFunc(w.at.Pods, func(p model.Pod) bool { return p.UID == c.UID })
			})
			w.at.Now = model.At(w.at.Now.Add(time.Minute << (2 * idle)))
			elect()
			idle++
		}
	}
}
