package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

const (
	// livePause is the shortest time between two views.
	livePause = time.Second
	// liveBeat is how often a stream shows that it is alive.
	liveBeat = 10 * time.Second
	// liveWrite is how long a reader may take to read a view.
	liveWrite = 20 * time.Second
)

// live sends a view now and whenever a decision is made, as server-sent events: `view` with a View,
// `problem` with a Problem if there is none.
func (h *Handler) live(w http.ResponseWriter, r *http.Request) {
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		refuse(w, http.StatusServiceUnavailable, "too many pages are open: close some, and load this one again")
		return
	}
	key := keyOf(r)
	changed := h.board.Watch(r.Context(), key)
	s := stream{w: w, to: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	beat := time.NewTicker(liveBeat)
	defer beat.Stop()
	var before []byte
	for {
		select {
		case <-r.Context().Done():
			return
		case <-beat.C:
			if s.send(": \n\n") != nil {
				return
			}
			continue
		case <-changed:
		}
		event := h.event(r)
		if !bytes.Equal(event, before) && s.send(string(event)) != nil {
			return
		}
		before = event
		select {
		case <-r.Context().Done():
			return
		case <-time.After(livePause):
		}
	}
}

// event returns the current event.
func (h *Handler) event(r *http.Request) []byte {
	key := keyOf(r)
	name := "view"
	var value any
	d, known := h.board.Newest(key)
	leads, leader := h.board.Leader()
	switch {
	case !leads:
		name, value = "problem", Problem{Error: standby(leader)}
	case !known:
		name, value = "problem", Problem{Error: unknown(key)}
	default:
		value = NewView(d, h.timelines.Of(key))
		if d.Idle { // agents of an idle cluster are asked only while somebody looks
			h.board.Ask(key)
		}
	}
	data, err := json.Marshal(value)
	if err != nil {
		name, data = "problem", []byte(`{"error":"the answer has no JSON form"}`)
	}
	return []byte("event: " + name + "\ndata: " + string(data) + "\n\n")
}

// stream writes events to one reader, which may be slow only for a limited time.
type stream struct {
	w  http.ResponseWriter
	to *http.ResponseController
}

func (s stream) send(text string) error {
	// Only a server of a test has no deadlines.
	_ = s.to.SetWriteDeadline(time.Now().Add(liveWrite))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.to.Flush()
}
