package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// Explanation writes why a pod goes or waits, and the facts behind the decision.
func Explanation(w io.Writer, p Palette, e status.Explanation) {
	mark := map[status.Verdict]Mark{status.VerdictGo: Good, status.VerdictUpToDate: Good, status.VerdictHold: Waiting}[e.Verdict]
	fmt.Fprintf(w, "%s %s\n", e.Pod, p.Paint(mark, Clean(string(e.Verdict))))
	for _, line := range strings.Split(Clean(e.Text), "\n") {
		// Not wrapped: these are lines of the plan, which people search for.
		fmt.Fprintf(w, "%s%s\n", gap, line)
	}
	fmt.Fprintln(w)
	t := NewTable("FACT", "AGE", "VALUE")
	t.Indent = gap
	for _, f := range e.Facts {
		age := "-"
		if f.AgeSeconds >= 0 {
			age = status.Age(time.Duration(f.AgeSeconds * float64(time.Second)))
		}
		t.Row(Plain, f.Name, age, Clean(f.Value))
	}
	t.Write(w, p)
}
