package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Absent is a pod that does not serve, and since when; zero = not known.
type Absent struct {
	policy.Absence
	Since time.Time
}

// AbsentPods are the pods that should serve and do not, in mid-rollout and at rest.
func AbsentPods(d Decision) []Absent {
	if d.Pods.Away == 0 {
		return nil
	}
	absences := policy.Absences(d.Snapshot)
	list := make([]Absent, 0, len(absences))
	for _, a := range absences {
		since := a.Since.Time
		if at, known := d.AwaySince[a.Pod]; known {
			since = at
		}
		list = append(list, Absent{a, since})
	}
	return list
}

// OverduePods are those that have not served for longer than policy.startSeconds,
// whatever the cause: nothing that begins with a pod takes as long.
func OverduePods(d Decision) []Absent {
	start := time.Duration(d.Snapshot.Cluster.Spec.WithDefaults().Policy.StartSeconds) * time.Second
	return slices.DeleteFunc(AbsentPods(d), func(a Absent) bool {
		return a.Since.IsZero() || d.DecidedAt.Sub(a.Since) <= start
	})
}

// countOverdue leaves out the pods that are counted as failed.
func countOverdue(d Decision) (n int) {
	for _, a := range OverduePods(d) {
		if pod, known := d.pod(a.Pod); !known || !failed(pod) {
			n++
		}
	}
	return n
}

// describe says who does not serve and why, with what to do about the first. It
// says since when, not for how long: a text that counts up is written again and again.
func describe(list []Absent) string {
	const most = 3
	var pods []string
	for i, a := range list {
		if i == most {
			pods = append(pods, fmt.Sprintf("%d more", len(list)-most))
			break
		}
		text := a.Pod + " is " + a.Why
		if wrong := a.Problem.Wrong(); wrong != "" {
			text += ", " + wrong
		}
		if !a.Since.IsZero() {
			text += ", since " + a.Since.UTC().Format(time.RFC3339)
		}
		pods = append(pods, text)
	}
	text := strings.Join(pods, "; ")
	for _, a := range list {
		if advice := a.Problem.Advice(); advice != "" {
			return text + "; to do for " + a.Pod + ": " + advice
		}
	}
	return text
}
