package cluster

import "github.com/rollcall-dev/rollcall/coordinator/model"

// VersionSpan is the oldest and the newest of some versions.
type VersionSpan struct {
	Known          bool
	Oldest, Newest namedVersion
}

// namedVersion is a version, how it was written, and the pool that runs it.
type namedVersion struct {
	Version model.EngineVersion
	text    string
	pool    *model.Pool
}

// Running returns the versions that run in each pool, and in all of them.
func (x *Index) Running() (pools []VersionSpan, all VersionSpan) {
	pools = make([]VersionSpan, len(x.Pools))
	for i := range x.Pools {
		pools[i].add(x.Pools[i].RunningVersion, x.Pools[i].Pool)
	}
	for i := range x.Pods {
		p := &x.Pods[i]
		blip := p.Phase == model.PodPhaseReady && p.MayLive
		if p.OwnReport != nil && (p.OwnReport.Member != model.MembershipNotLive || blip) {
			pools[p.PoolPos].add(p.OwnReport.EngineVersion, p.OwnPool.Pool)
		}
	}
	for _, own := range pools {
		all.join(own)
	}
	return pools, all
}

// Goals returns the versions of all templates.
func (x *Index) Goals() VersionSpan {
	var all VersionSpan
	for i := range x.Pools {
		all.add(x.Pools[i].Version, x.Pools[i].Pool)
	}
	return all
}

// Runs says where the version runs, unless that is the pool in question.
func (n namedVersion) Runs(spokenOf *model.Pool) string {
	if n.pool == spokenOf {
		return n.text + ", which runs,"
	}
	return n.text + ", which runs in pool " + n.pool.Name + ","
}

// add extends the span by a version that a pool runs. It ignores text that is not a version.
func (s *VersionSpan) add(text string, pool *model.Pool) {
	v, ok := model.ParseEngineVersion(text)
	if !ok {
		return
	}
	n := namedVersion{v, text, pool}
	if !s.Known || v.Compare(s.Oldest.Version) < 0 {
		s.Oldest = n
	}
	if !s.Known || v.Compare(s.Newest.Version) > 0 {
		s.Newest = n
	}
	s.Known = true
}

// join extends the span by another one.
func (s *VersionSpan) join(o VersionSpan) {
	if o.Known {
		s.add(o.Oldest.text, o.Oldest.pool)
		s.add(o.Newest.text, o.Newest.pool)
	}
}

// TalksTo reports whether v has the major and minor number of all versions in the span.
func TalksTo(v model.EngineVersion, all VersionSpan) bool {
	return v.Line() == all.Oldest.Version.Line() && v.Line() == all.Newest.Version.Line()
}
