package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

const (
	settingAllocation = "cluster.routing.allocation.enable"
	settingExclude    = "cluster.routing.allocation.exclude._name"
)

// settings are the cluster settings that were ever changed, by flat name. A transient value takes
// precedence over a persistent one.
type settings struct{ persistent, transient map[string]string }

// effective returns the value that counts; empty means the default, or what the nodes' files say.
func (s settings) effective(name string) string {
	if v, ok := s.transient[name]; ok {
		return v
	}
	return s.persistent[name]
}

// excluded are the node names that allocation keeps copies away from.
func (s settings) excluded() []string { return entries(s.effective(settingExclude)) }

// throttled reports whether new copies of existing shards are put anywhere.
func (s settings) throttled() bool {
	v := strings.ToLower(s.effective(settingAllocation))
	return v != "" && v != "all"
}

func (a *api) settings(ctx context.Context) (settings, error) {
	return fetch(ctx, a, web.Request{Path: pathSettings, Params: web.Query("flat_settings", "true")}, decodeSettings)
}

func decodeSettings(r io.Reader) (settings, error) {
	var answer struct {
		Persistent map[string]json.RawMessage `json:"persistent"`
		Transient  map[string]json.RawMessage `json:"transient"`
	}
	if err := decode(r, "cluster settings", &answer); err != nil {
		return settings{}, err
	}
	if answer.Persistent == nil || answer.Transient == nil {
		return settings{}, fmt.Errorf("decode cluster settings: no persistent or no transient ones: %w", ErrNotOpenSearch)
	}
	persistent, err := texts(answer.Persistent)
	if err != nil {
		return settings{}, err
	}
	transient, err := texts(answer.Transient)
	return settings{persistent, transient}, err
}

// texts decodes values, which are strings, lists of strings, and in old states other scalars.
func texts(values map[string]json.RawMessage) (map[string]string, error) {
	out := make(map[string]string, len(values))
	for name, raw := range values {
		var text string
		var list []string
		switch {
		case json.Unmarshal(raw, &text) == nil:
		case json.Unmarshal(raw, &list) == nil:
			text = strings.Join(list, ",")
		case len(raw) > 0 && raw[0] != '{' && raw[0] != '[':
			text = string(raw)
		default:
			return nil, fmt.Errorf("decode cluster settings: value of %q: must be text", engines.OneLine(name))
		}
		out[name] = text
	}
	return out, nil
}

// changes are changes of settings; nil removes a setting.
type changes map[string]*string

func (c changes) set(name, value string) { c[name] = &value }

func (c changes) setOrDrop(name, value string, there bool) {
	c[name] = nil
	if there {
		c.set(name, value)
	}
}

// change writes settings of both levels, all of them or none.
func (a *api) change(ctx context.Context, persistent, transient changes) error {
	body := map[string]changes{}
	if len(persistent) > 0 {
		body["persistent"] = persistent
	}
	if len(transient) > 0 {
		body["transient"] = transient
	}
	return a.client.Do(ctx, web.Request{Method: http.MethodPut, Path: pathSettings, Body: body, Timeout: a.changeTime, Read: decodeAcknowledged})
}

// decodeAcknowledged decodes the answer to a change. Some nodes may be late to follow, which the
// next look shows; but the answer must say whether they are.
func decodeAcknowledged(r io.Reader) error {
	var answer struct {
		Acknowledged *bool `json:"acknowledged"`
	}
	if err := decode(r, "change of settings", &answer); err != nil {
		return err
	}
	if answer.Acknowledged == nil {
		return fmt.Errorf("decode change of settings: neither acknowledged nor not: %w", ErrNotOpenSearch)
	}
	return nil
}

// excludeVoters keeps the nodes from voting. It returns when they no longer vote, or when that took
// too long; the next look says which.
func (a *api) excludeVoters(ctx context.Context, names, ids []string) error {
	params := web.Query("timeout", "10s")
	if len(names) > 0 {
		params.Set("node_names", strings.Join(names, ","))
	} else {
		params.Set("node_ids", strings.Join(ids, ","))
	}
	return a.client.Do(ctx, web.Request{Method: http.MethodPost, Path: pathVoting, Params: params, Timeout: a.changeTime})
}

// clearVoters lets all nodes vote again. There is no call for some of them.
func (a *api) clearVoters(ctx context.Context) error {
	return a.client.Do(ctx, web.Request{Method: http.MethodDelete, Path: pathVoting, Params: web.Query("wait_for_removal", "false"), Timeout: a.changeTime})
}

// flush makes the copies of all indices durable, so that a restart has little to
// replay.
func (a *api) flush(ctx context.Context) error {
	return a.client.Do(ctx, web.Request{Method: http.MethodPost, Path: pathFlush, Params: web.Query("expand_wildcards", "open,hidden"), Timeout: flushTime})
}

// entries returns the entries of a list setting.
func entries(value string) []string {
	var out []string
	for e := range strings.SplitSeq(value, ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}
