package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// Handler serves a world to processes, clients and the controlling test.
func (w *World) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+wire.PathAsk, wire.Serve(w.Ask))
	mux.Handle("POST "+wire.PathMember, wire.Serve(w.Member))
	mux.Handle("POST "+wire.PathControl, wire.Serve(w.Control))
	mux.HandleFunc("GET "+wire.PathReady, func(http.ResponseWriter, *http.Request) {})
	return mux
}

// Save writes the cluster to a file, whole or not at all.
func (w *World) Save(path string) error {
	w.mu.Lock()
	w.catchUp()
	data, err := json.Marshal(w.cluster)
	w.mu.Unlock()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".next", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".next", path)
}

// Load reads what Save wrote; nil when there is nothing.
func Load(path string) (*model.Cluster, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := &model.Cluster{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}
