package observer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
)

// OpenSearch as the observer asks it.
type OpenSearch struct {
	// Pods returns the URLs of the pods that have an address, by name.
	Pods func() map[string]string
	// Managers begins the names of pods that vote; they are a group of their own.
	Managers string
}

type searchState struct {
	Version int64 `json:"version"`
	Nodes   map[string]struct {
		Name string `json:"name"`
	} `json:"nodes"`
	Routing struct {
		Indices map[string]struct {
			Shards map[string][]struct {
				State string `json:"state"`
				Node  string `json:"node"`
			} `json:"shards"`
		} `json:"indices"`
	} `json:"routing_table"`
}

// Read asks every node what it knows, takes the newest, and asks each copy that
// is said to be started for an answer of its own.
func (s OpenSearch) Read(ctx context.Context) (Copies, error) {
	pods := s.Pods()
	state, answers, err := newest(ctx, pods)
	if err != nil {
		return nil, err
	}
	out := Copies{}
	member := map[string]bool{}
	for _, n := range state.Nodes {
		member[n.Name] = true
	}
	for pod := range pods {
		why := ""
		switch {
		case answers[pod] != nil:
			why = "it does not answer: " + answers[pod].Error()
		case !member[pod]:
			why = "it is no member"
		}
		out.note("node "+pod, pod, why)
		if strings.HasPrefix(pod, s.Managers) {
			out.note("managers", pod, why)
		}
	}

	var mu sync.Mutex
	var wg sync.WaitGroup
	for index, i := range state.Routing.Indices {
		for number, copies := range i.Shards {
			for n, c := range copies {
				pod := state.Nodes[c.Node].Name
				if pod == "" {
					pod = fmt.Sprint(nowhere, n)
				}
				wg.Go(func() {
					why := c.State
					if c.State == "STARTED" || c.State == "RELOCATING" {
						why = searches(ctx, pods[pod], index, number)
					}
					mu.Lock()
					defer mu.Unlock()
					out.note(index+"/"+number, pod, why)
				})
			}
		}
	}
	wg.Wait()
	return out, nil
}

// newest returns the newest state that a node has, and which nodes did not answer.
func newest(ctx context.Context, pods map[string]string) (state searchState, answers map[string]error, err error) {
	answers = map[string]error{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for pod, base := range pods {
		wg.Go(func() {
			var said searchState
			err := get(ctx, base+"/_cluster/state/version,nodes,routing_table?local=true", &said)
			mu.Lock()
			defer mu.Unlock()
			answers[pod] = err
			if err == nil && said.Version > state.Version {
				state = said
			}
		})
	}
	wg.Wait()
	if state.Version == 0 {
		for _, e := range answers {
			err = errors.Join(err, e)
		}
		return state, answers, fmt.Errorf("no node says what there is: %w", err)
	}
	return state, answers, nil
}

// searches is empty when a node answers a search of its own copy.
func searches(ctx context.Context, base, index, shard string) string {
	var answer struct {
		Shards struct {
			Successful int `json:"successful"`
		} `json:"_shards"`
	}
	err := get(ctx, base+"/"+url.PathEscape(index)+"/_search?size=0&preference="+url.QueryEscape("_shards:"+shard+"|_only_local"), &answer)
	if err == nil && answer.Shards.Successful == 0 {
		err = errors.New("no shard was searched")
	}
	if err != nil {
		return "it does not answer: " + err.Error()
	}
	return ""
}
