package naive

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "Versions".

// version is up to four numbers.
type version [4]int

func (v version) compare(u version) int { return slices.Compare(v[:], u[:]) }

// parse reads up to four numbers after an optional v. It ignores what follows.
func parse(text string) (version, bool) {
	text = strings.TrimPrefix(text, "v")
	var v version
	for i := range v {
		digits := 0
		for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
			digits++
		}
		n, err := strconv.Atoi(text[:digits])
		if err != nil {
			return v, i > 0
		}
		v[i] = n
		rest, more := strings.CutPrefix(text[digits:], ".")
		if !more {
			break
		}
		text = rest
	}
	return v, true
}

// running returns what runs in a pool, or in any with an empty name: runningVersion of the pool,
// and engineVersion of its pods' reports, except those that say NotLive, unless the pod is Ready
// and not denied.
func (w *world) running(pool string) []version {
	var versions []version
	add := func(text string) {
		if v, ok := parse(text); ok {
			versions = append(versions, v)
		}
	}
	for _, p := range w.s.Pools {
		if pool == "" || p.Name == pool {
			add(p.RunningVersion)
		}
	}
	for _, p := range w.pods {
		blip := p.Phase == model.PodPhaseReady && !w.denied(p)
		if r := report(p); r != nil && (r.Member != model.MembershipNotLive || blip) && (pool == "" || p.Pool == pool) {
			add(r.EngineVersion)
		}
	}
	slices.SortFunc(versions, version.compare)
	return versions
}

// refused reports whether the pool's new version is not to be rolled out.
func (w *world) refused(pool *model.Pool) bool {
	isAsked := slices.ContainsFunc(w.pods, func(p *model.Pod) bool { return p.Pool == pool.Name && w.outdated(p) })
	to, ok := parse(pool.Version)
	if !isAsked || !ok {
		return false
	}
	here, anywhere := w.running(pool.Name), w.running("")
	if len(anywhere) == 0 {
		return false
	}
	oldest, newest := anywhere[0], anywhere[len(anywhere)-1]
	newestHere := newest
	if len(here) > 0 {
		newestHere = here[len(here)-1]
	}
	engine := w.s.Cluster.Engine
	switch {
	case to.compare(newestHere) < 0 && w.spec.Policy.Downgrade == model.PermissionHold:
		return true
	case len(here) > 0 && to == here[0]:
		return false
	case engine.SameMinor && !w.outage() && (otherMinor(to, oldest) || otherMinor(to, newest)):
		return true
	case to[0] > oldest[0]+engine.MaxMajorStep:
		return true
	}
	least, ok := parse(engine.MinSourceVersion)
	return ok && to[0] == w.highestMajor() && oldest != to && oldest.compare(least) < 0
}

func otherMinor(a, b version) bool { return a[0] != b[0] || a[1] != b[1] }

// highestMajor returns the highest major among all pools' new versions.
func (w *world) highestMajor() int {
	highest := 0
	for _, p := range w.s.Pools {
		if v, ok := parse(p.Version); ok {
			highest = max(highest, v[0])
		}
	}
	return highest
}

// versionRefused holds an outdated pod that brings an update when its own pool is
// refused, broken or not; and when any pool is refused, if its reason is Outdated
// and its node is not to be left.
func (w *world) versionRefused(c *candidate) bool {
	if !w.outdated(c.Pod) || w.bringsNoUpdate(c) {
		return false
	}
	if w.refused(w.pool(c.Pod)) {
		return true
	}
	if c.reason != model.ReasonOutdated || w.toBeLeft(c.Pod) {
		return false
	}
	for i := range w.s.Pools {
		if w.refused(&w.s.Pools[i]) {
			return true
		}
	}
	return false
}
