package cluster

import (
	"cmp"
	"fmt"
	"strings"
)

// FirstFew names the first few of all, and says how many more there are.
func FirstFew[T any](all []T, name func(T) string) string {
	const most = 3
	var names []string
	for _, one := range all[:min(most, len(all))] {
		names = append(names, name(one))
	}
	return fewOf(names, len(all))
}

// fewOf joins the first few of so many.
func fewOf(few []string, all int) string {
	if left := all - len(few); left > 0 {
		few = append(few, fmt.Sprintf("%d more", left))
	}
	return strings.Join(few, ", ")
}

// About returns what is wrong with a pod, to be added to a sentence.
func About(p *Pod) string {
	if wrong := p.Problem.Wrong(); wrong != "" {
		return ": " + wrong
	}
	return ""
}

// OrAdvice adds to what would end a wait what a person can do about the pod that is awaited.
func OrAdvice(unblocks string, p *Pod) string {
	advice := p.Problem.Advice()
	if p.NotInTime {
		advice = cmp.Or(advice, UnreadyAdvice)
	}
	if advice != "" {
		return unblocks + "; to do: " + advice
	}
	return unblocks
}
