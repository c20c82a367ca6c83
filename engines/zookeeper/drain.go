package zookeeper

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
)

// departure decides whether a member can leave now. It gives nothing away, and a server that gets
// SIGTERM leaves at once. So a drain changes nothing. It waits until the others are a majority by
// each configuration, and refuses nothing that waiting may permit.
type departure struct {
	assessment
	node string
	// granted means that it was told that it may leave.
	granted bool
	// forGood means that its data will be lost.
	forGood bool
}

func (d departure) decide() engines.Progress {
	wait := func(format string, args ...any) engines.Progress {
		return engines.Progress{State: engines.ProgressRunning, Detail: engines.OneLine(fmt.Sprintf(format, args...))}
	}
	done := func(words string) engines.Progress {
		return engines.Progress{State: engines.ProgressDone, Detail: words}
	}
	_, known := d.find(d.node)
	switch {
	case d.unsure != "":
		return wait("%s", d.unsure)
	case !known:
		return done("it is no member")
	case d.Self.State.Mode == Standalone && d.forGood:
		return wait("no other server has its data")
	case d.Self.State.Mode == Standalone:
		return done("it is the only server: nobody is served until it is back")
	case d.leader == "":
		return wait("it is not known who leads")
	}
	for _, c := range d.configs {
		if line, there := c.find(d.node); !there || !line.Voter {
			continue
		}
		voters := c.voters()
		have, lacks := 0, ""
		for _, node := range voters {
			other, _ := d.find(node)
			switch {
			case node == d.node:
			case d.state(other) != engines.MemberActive || d.before(other):
				lacks = node
			default:
				have++
			}
		}
		switch {
		case 2*have <= len(voters):
			return wait("without %s %d of %d voters would be left in sync, and no majority", d.node, have, len(voters))
		case d.forGood && lacks != "":
			return wait("its data will be lost, and with it its votes for what was written: %s is not in sync", lacks)
		}
	}
	switch to := d.receiver(); {
	case d.node != d.leader:
		return done("the others are a majority without it")
	case to != "":
		return wait("it leads, and may be sending its data to %s", to)
	}
	return done("it leads, and leadership cannot be handed over: the others elect when it stops")
}
