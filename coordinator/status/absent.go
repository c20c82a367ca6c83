package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// describe says which pods do not serve and why, with what to do about the first. It says since
// when, not for how long: a text that counts up would be written again and again.
func describe(list []progress.Unavailable) string {
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
