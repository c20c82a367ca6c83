package observer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is what was seen of all pods that went.
type Report struct {
	// Looks, and how many of them learned nothing.
	Looks, Blind int
	Goings       []Verdict
	// Budget that they are judged by.
	Budget int
}

// Verdict is about one pod that went.
type Verdict struct {
	Going
	// Away are other pods of which no copy served then.
	Away []string
	// Missing are other copies of its shards that did not serve then, and why.
	Missing map[string][]string
	// Unknown says why it cannot be told who served.
	Unknown string
}

// Err is what is wrong with a pod's going then, by a budget.
func (v Verdict) Err(budget int) error {
	var errs []error
	at := fmt.Sprintf("%s went at %s", v.Pod, v.At.Format("15:04:05.000"))
	if v.Unknown != "" {
		errs = append(errs, fmt.Errorf("%s, when nobody could tell which copies serve: %s", at, v.Unknown))
	}
	if len(v.Away)+1 > budget {
		errs = append(errs, fmt.Errorf("%s, when %s served nothing", at, strings.Join(v.Away, ", ")))
	}
	for _, shard := range slices.Sorted(maps.Keys(v.Missing)) {
		if missing := v.Missing[shard]; len(missing)+1 > budget {
			errs = append(errs, fmt.Errorf("%s, when of %s did not serve: %s", at, shard, strings.Join(missing, "; ")))
		}
	}
	return errors.Join(errs...)
}

// Err is what is wrong with all of it.
func (r Report) Err() error {
	var errs []error
	for _, v := range r.Goings {
		errs = append(errs, v.Err(r.Budget))
	}
	return errors.Join(errs...)
}

// MostAway is the largest number of copies of one shard, and of pods, that were unavailable because
// a pod went, that pod included.
func (r Report) MostAway() (copies, pods int) {
	for _, v := range r.Goings {
		pods = max(pods, len(v.Away)+1)
		copies = max(copies, 1)
		for _, missing := range v.Missing {
			copies = max(copies, len(missing)+1)
		}
	}
	return copies, pods
}

func (r Report) String() string {
	copies, pods := r.MostAway()
	var went []string
	for _, v := range r.Goings {
		went = append(went, v.Pod)
	}
	return fmt.Sprintf("observer: %d pods went (%s); at most %d copies of one shard and %d pods unavailable by that; %d looks, %d of them learned nothing",
		len(r.Goings), strings.Join(went, " "), copies, pods, r.Looks, r.Blind)
}

// judge holds every pod that went against the looks around that moment.
func judge(looks []Look, goings []Going, budget int) Report {
	r := Report{Looks: len(looks), Budget: budget}
	for i := range looks {
		if looks[i].Err != nil {
			r.Blind++
		}
	}
	for _, g := range goings {
		r.Goings = append(r.Goings, verdict(looks, g))
	}
	return r
}

// around are the looks that say what was so at a time: the last that was answered
// before it, the first that was asked after it, and those in between. What none of
// them says did not serve then. A copy that served in one of them may have gone or
// come a moment before or after, which nobody who asks can tell apart.
func around(looks []Look, at time.Time) []Look {
	first, last := 0, len(looks)
	for i := range looks {
		if !looks[i].Answered.After(at) {
			first = i
		}
		if looks[i].Asked.After(at) {
			last = i + 1
			break
		}
	}
	return looks[first:last]
}

func verdict(looks []Look, g Going) Verdict {
	v := Verdict{Going: g, Missing: map[string][]string{}}
	near := slices.DeleteFunc(slices.Clone(around(looks, g.At)), func(l Look) bool {
		if l.Err != nil {
			v.Unknown = l.Err.Error()
		}
		return l.Err != nil
	})
	if len(near) == 0 {
		if v.Unknown == "" {
			v.Unknown = "nobody had looked yet"
		}
		return v
	}
	v.Unknown = ""

	// What a pod has is what the newest look before it went says: one that has gone
	// may be left out of later ones.
	serves, has := map[string]bool{}, map[string]bool{}
	for shard, copies := range near[0].Copies {
		_, hosted := copies[g.Pod]
		for pod, why := range copies {
			has[pod] = true
			for _, later := range near {
				if now, there := later.Copies[shard][pod]; there && now == "" {
					why = ""
				}
			}
			if why == "" {
				serves[pod] = true
			} else if hosted && pod != g.Pod {
				v.Missing[shard] = append(v.Missing[shard], pod+" ("+why+")")
			}
		}
		slices.Sort(v.Missing[shard])
	}
	for _, pod := range slices.Sorted(maps.Keys(has)) {
		if pod != g.Pod && !serves[pod] && !strings.HasPrefix(pod, nowhere) {
			v.Away = append(v.Away, pod)
		}
	}
	return v
}
