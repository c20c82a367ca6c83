package topology

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// Kind returns how the members share the role of primary. It is Unknown where no primary is known,
// now or before.
func (v View) Kind() engines.Topology {
	own := v.Self.State
	switch {
	case own.Group != nil, v.Grouped():
		return engines.GroupReplication
	case v.Self.Serves() && v.alone():
		return engines.SingleServer
	case v.Asked == engines.Switchover:
		return engines.Switchable
	case v.Asked == engines.RestartInPlace:
		return engines.FixedPrimary
	}
	switch primary, known := v.soleWriter(); {
	case known && v.stays(primary):
		return engines.FixedPrimary
	case known:
		return engines.Switchable
	case v.Fixed != Fixed{}:
		return engines.FixedPrimary
	}
	return engines.TopologyUnknown
}

// InPlace reports whether the primary keeps its role when it restarts.
func (v View) InPlace() bool {
	k := v.Kind()
	return k == engines.FixedPrimary || k == engines.SingleServer
}

func (v View) alone() bool {
	return len(v.Others) == 0 && len(v.Self.State.Replicas) == 0 && v.Self.State.Source == nil
}

// soleWriter returns the only member that takes writes and follows nobody.
func (v View) soleWriter() (found Member, known bool) {
	for _, m := range v.All() {
		if m.Allows() && m.State.Source == nil {
			if known {
				return Member{}, false
			}
			found, known = m, true
		}
	}
	return found, known
}

// stays reports whether nothing but the writer was ever meant to lead: it is in a StatefulSet of its
// own, and it is not a server that starts read-only beside replicas that do.
func (v View) stays(writer Member) bool {
	set := v.setOf(writer)
	if set == "" || v.External {
		return false
	}
	writable := writer.State.StartsWritable
	for _, m := range v.All() {
		switch {
		case m.Name() == writer.Name():
		case v.setOf(m) == set:
			return false
		case m.Allows(), m.Serves() && m.State.StartsWritable:
			writable = true
		}
	}
	return writable
}

func (v View) setOf(m Member) string {
	pod := m.Peer.Pod
	if pod == "" {
		pod = replication.PodOf(m.Name())
	}
	set, _ := replication.SetOf(pod)
	return set
}

// Remembered returns the fixed primary to remember after this view.
func (v View) Remembered() Fixed {
	primary, known := v.soleWriter()
	switch {
	case !known:
		return v.Fixed
	case v.Kind() == engines.FixedPrimary:
		return Fixed{primary.Name(), primary.State.ID}
	}
	return Fixed{}
}

// Keeps reports whether the member has the role of a fixed primary: it takes writes, or did when it
// was seen last, and follows nobody. A replica of a fixed primary may take writes and stays one.
func (v View) Keeps(m Member) bool {
	if m.State.Source != nil {
		return false
	}
	if primary, known := v.soleWriter(); known {
		return primary.Name() == m.Name()
	}
	return v.Fixed != Fixed{} && v.Fixed.Name == m.Name()
}

// Lacks explains what a replica must get before its fixed primary restarts: everything that this one
// had at an earlier time. Empty means nothing.
func (v View) Lacks(m, primary Member, before replication.State) string {
	src := m.State.Source
	switch {
	case !m.Serves():
		return m.Silence()
	case src == nil:
		return m.Name() + " follows nobody"
	case !v.FollowsFixed(m, primary):
		return fmt.Sprintf("%s follows %s, which is not %s", m.Name(), engines.OneLine(src.Host), primary.Name())
	case src.Failure != "":
		return fmt.Sprintf("%s does not replicate: %s", m.Name(), engines.OneLine(src.Failure))
	case !src.Applying:
		return m.Name() + " has stopped replicating"
	case !src.Receiving:
		return m.Name() + " is not connected to its source"
	case before.Executed != "" && m.State.Executed != "":
		if ok, why := m.Has(before.Executed); !ok {
			return fmt.Sprintf("%s has not caught up: %s", m.Name(), why)
		}
		return ""
	case before.Log != nil && src.Applied != nil && src.ID == primary.State.ID:
		switch reached, known := src.Applied.AtLeast(*before.Log); {
		case !known:
			return fmt.Sprintf("%s is at %s, which is not in the log of %s", m.Name(), src.Applied, primary.Name())
		case !reached:
			return fmt.Sprintf("%s has not caught up: it is at %s of %s", m.Name(), src.Applied, before.Log)
		}
		return ""
	}
	return "how much " + m.Name() + " has is not known"
}

// FollowsFixed reports whether the replica follows the fixed primary, directly or through others. A
// Service's name belongs to no member: there the ID of the server alone tells.
func (v View) FollowsFixed(m, primary Member) bool {
	return assessment{View: v, members: v.All(), fixed: true}.comesFrom(m, primary)
}
