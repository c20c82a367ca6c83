package testbed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxAnswer bounds what is read of one answer.
const maxAnswer = 4 << 20

// Call is one request of a database's HTTP interface.
type Call struct {
	Method string // default GET
	URL    string
	Body   any // sent as JSON, unless nil
	Into   any // decoded from JSON, unless nil
}

// Do makes the call. An answer that is not good is an error with its beginning.
func (c Call) Do(ctx context.Context) error {
	var body []byte
	if c.Body != nil {
		var err error
		if body, err = json.Marshal(c.Body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(c.Method, http.MethodGet), c.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("status %d: %.400s", resp.StatusCode, answer)
	}
	if c.Into != nil {
		return json.Unmarshal(answer, c.Into)
	}
	return nil
}
