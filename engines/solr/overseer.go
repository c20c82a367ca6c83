package solr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// overseer is what the overseer says of itself.
type overseer struct {
	node string // empty means that the cluster runs without one
	// working means that operations of the collections API run or wait, besides the question.
	working bool
}

// ownEntries are the entries of the question itself in the overseer's queue: what is asked, and where the answer goes.
const ownEntries = 2

func (a *api) overseer(ctx context.Context) (overseer, error) {
	return fetch(ctx, a, pathCollections, web.Query("action", "OVERSEERSTATUS", "wt", "json"), decodeOverseer)
}

func decodeOverseer(body []byte) (overseer, error) {
	var answer struct {
		Header *json.RawMessage `json:"responseHeader"`
		Leader flexString       `json:"leader"`
		Queue  flexInt          `json:"overseer_collection_queue_size"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return overseer{}, fmt.Errorf("decode overseer status: %w", err)
	}
	if answer.Header == nil {
		return overseer{}, errors.New("decode overseer status: no responseHeader: not the answer of a Solr")
	}
	return overseer{node: string(answer.Leader), working: answer.Queue > ownEntries}, nil
}

const (
	keepOverseer = 30 * time.Second // it changes with the live nodes, mostly
	// keepWorking is for an overseer that works: what does so in two looks is no passing operation, such as the question of
	// another member.
	keepWorking = 2 * time.Second
	longWork    = 2 // looks

	// sideTime bounds the overseer call: it is answered by the overseer itself and
	// hangs while one is elected.
	sideTime = 2 * time.Second
)

// busyWords say that the overseer works; a restart may make that fail, and Solr does not begin anew.
const busyWords = "an operation of the collections API, such as a backup or a shard split, runs or waits"

// overseers keeps what the overseer said.
type overseers struct {
	last  engines.Cached[overseer]
	live  []string // live nodes when it was read
	works int      // looks in a row in which it worked
}

func (b *overseers) look(o overseer) {
	if o.working {
		b.works++
	} else {
		b.works = 0
	}
}

func (b *overseers) keep() time.Duration {
	if b.works > 0 {
		return keepWorking
	}
	return keepOverseer
}

// busy returns the words if the overseer has worked for long.
func (b *overseers) busy() string {
	if b.works >= longWork {
		return busyWords
	}
	return ""
}
