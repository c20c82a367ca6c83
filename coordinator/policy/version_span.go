package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"

// versionSpan is the oldest and the newest of some versions.
type versionSpan struct {
	known          bool
	oldest, newest namedVersion
}

// namedVersion is a version, how it was written, and the pool that runs it.
type namedVersion struct {
	version model.EngineVersion
	text    string
	pool    *model.Pool
}

// runs says where the version runs, unless that is the pool in question.
func (n namedVersion) runs(spokenOf *model.Pool) string {
	if n.pool == spokenOf {
		return n.text + ", which runs,"
	}
	return n.text + ", which runs in pool " + n.pool.Name + ","
}

// add extends the span by a version that a pool runs. It ignores text that is not a version.
func (s *versionSpan) add(text string, pool *model.Pool) {
	v, ok := model.ParseEngineVersion(text)
	if !ok {
		return
	}
	n := namedVersion{v, text, pool}
	if !s.known || v.Compare(s.oldest.version) < 0 {
		s.oldest = n
	}
	if !s.known || v.Compare(s.newest.version) > 0 {
		s.newest = n
	}
	s.known = true
}

// join extends the span by another one.
func (s *versionSpan) join(o versionSpan) {
	if o.known {
		s.add(o.oldest.text, o.oldest.pool)
		s.add(o.newest.text, o.newest.pool)
	}
}

// talksTo reports whether v has the major and minor number of all versions in the span.
func talksTo(v model.EngineVersion, all versionSpan) bool {
	return v.Line() == all.oldest.version.Line() && v.Line() == all.newest.version.Line()
}
