package solr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// taskState is the task state of an asynchronous request.
type taskState uint8

const (
	taskUnknown taskState = iota
	taskAbsent
	taskRunning // submitted or running
	taskCompleted
	taskFailed
)

func (s taskState) String() string {
	return [...]string{"unknown", "absent", "running", "completed", "failed"}[min(s, taskFailed)]
}

// task returns the state of an asynchronous request and Solr's words.
func (a *api) task(ctx context.Context, id string) (taskState, string, error) {
	var body bytes.Buffer
	params := web.Query("action", "REQUESTSTATUS", "requestid", id, "wt", "json")
	err := a.ask(ctx, web.Request{Path: pathCollections, Params: params, Timeout: a.read}, &body)
	var failure *web.StatusError
	if errors.As(err, &failure) && !failure.Denied() {
		// Some versions repeat the task's own failure as that of this call, 8.11 with the task's own code.
		if state, words, decodeErr := decodeTask(body.Bytes()); decodeErr == nil && state == taskFailed {
			return state, words, nil
		}
	}
	if err != nil {
		return taskUnknown, "", err
	}
	return decodeTask(body.Bytes())
}

func decodeTask(body []byte) (taskState, string, error) {
	var answer struct {
		Status *struct {
			State flexString `json:"state"`
			Words flexString `json:"msg"`
		} `json:"status"`
		Exception *struct {
			Words flexString `json:"msg"`
		} `json:"exception"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return taskUnknown, "", fmt.Errorf("decode task status: %w", err)
	}
	if answer.Status == nil {
		return taskUnknown, "", errors.New("decode task status: no status")
	}
	words := answer.Status.Words
	if answer.Exception != nil && answer.Exception.Words != "" {
		words = answer.Exception.Words
	}
	text := engines.OneLine(string(words))
	switch answer.Status.State {
	case "notfound":
		return taskAbsent, text, nil
	case "submitted", "running":
		return taskRunning, text, nil
	case "completed":
		return taskCompleted, text, nil
	case "failed":
		return taskFailed, text, nil
	}
	return taskUnknown, "", fmt.Errorf("decode task status: state %q: must be notfound, submitted, running, completed or failed",
		engines.OneLine(string(answer.Status.State)))
}

// forget removes the stored result of a task; an unknown one is no error.
func (a *api) forget(ctx context.Context, id string) error {
	return a.collectionsChange(ctx, web.Query("action", "DELETESTATUS", "requestid", id))
}

// taskPrefix marks our asynchronous requests.
const taskPrefix = "rollcall-"

func evacuateTask(claim string) string { return taskPrefix + claim + "-evacuate" }
func balanceTask(claim string) string  { return taskPrefix + claim + "-balance" }
