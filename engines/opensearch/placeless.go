package opensearch

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/web"
)

// placeless asks what OpenSearch found when it last looked for a place for replicas that
// are nowhere, and of which state that is. Where a node has just come it has yet to look
// again; that is queued then, and the verdict asks for that, too.
func (a *api) placeless(ctx context.Context) (id string, shards map[string]bool, err error) {
	row := "routing_table.indices.*.shards.*."
	params := web.Query("filter_path", strings.Join([]string{"state_uuid", row + "primary", row + "state", row + "unassigned_info.allocation_status"}, ","))
	err = a.get(ctx, pathState+"/version,routing_table", params, func(r io.Reader) error {
		id, shards, err = decodePlaceless(r)
		return err
	})
	return id, shards, err
}

// decodePlaceless: "deciders_no" is the word for a copy that no node may take. Whatever
// else may end by itself: "deciders_throttled", "fetching_shard_data",
// "delayed_allocation", "no_attempt".
func decodePlaceless(r io.Reader) (id string, shards map[string]bool, err error) {
	var answer struct {
		ID      string `json:"state_uuid"`
		Routing struct {
			Indices map[string]struct {
				Shards map[string][]struct {
					State   string `json:"state"`
					Primary bool   `json:"primary"`
					Info    *struct {
						Status string `json:"allocation_status"`
					} `json:"unassigned_info"`
				} `json:"shards"`
			} `json:"indices"`
		} `json:"routing_table"`
	}
	if err := decode(r, "allocation status", &answer); err != nil {
		return "", nil, err
	}
	if answer.ID == "" {
		return "", nil, fmt.Errorf("decode allocation status: no state_uuid: %w", ErrNotOpenSearch)
	}
	shards = map[string]bool{}
	for index, i := range answer.Routing.Indices {
		for number, rows := range i.Shards {
			nowhere, refused := 0, 0
			for _, row := range rows {
				if !row.Primary && copyStateOf(row.State) == unassigned {
					nowhere++
					refused += count(row.Info != nil && row.Info.Status == "deciders_no")
				}
			}
			if nowhere > 0 && nowhere == refused {
				shards[shard{index: index, number: number}.String()] = true
			}
		}
	}
	return answer.ID, shards, nil
}
