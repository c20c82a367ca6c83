package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// saying is a peer that answers every look with the same bytes.
type saying struct {
	engines.Peers
	answer []byte
}

func (saying) List() []engines.Peer { return nil }

func (p saying) Look(context.Context, string, bool) ([]byte, error) { return p.answer, nil }

// unreachable is a server that nobody can ask.
type unreachable struct{ database }

func (unreachable) Look(context.Context) (replication.State, error) {
	return replication.State{}, errors.New("connection refused")
}

// FuzzPeers checks that whatever another member's agent says of itself or asks for, it is that
// member's answer or none, and this agent goes on.
func FuzzPeers(f *testing.F) {
	v := primaryWithTwo()
	for _, seed := range []any{v.Self.State, v.Others[0].State, body{Switch: try(), Primary: "db-1"}} {
		data, err := json.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v := primaryWithTwo()
		e := newEngine(unreachable{}, Options{Peers: saying{answer: data}})
		m := e.lookAt(t.Context(), engines.Peer{Node: "db-1", Alive: true}, false)
		if m.Known && m.State.Node != "db-1" || !m.Known && m.Why == "" {
			t.Fatalf("%+v", m)
		}
		v.Others[0], v.Now = m, time.Now()
		topology.Observe(v)
		for _, name := range []string{stepIntend, stepCatchUp, stepPromote, stepForget, stepReopen} {
			_, _ = e.Step(t.Context(), engines.Step{Name: name, Body: data})
		}
	})
}
