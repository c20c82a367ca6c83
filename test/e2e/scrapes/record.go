// Package scrapes records what Prometheus would have scraped, once a second, as it
// was answered: while tests run on a real cluster, for test/dashboard to draw.
//
// A recording is compressed with gzip. In it a line `#scrape {...}` with the time and
// the labels of a target begins each answer; a failed scrape has a reason instead of
// samples. It can be read up to where a run has broken off.
package scrapes

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Mark begins the line before each answer.
const Mark = "#scrape "

// Target is what is scraped.
type Target struct {
	URL    string
	Labels map[string]string
}

// Scrape is one answer.
type Scrape struct {
	At     int64             `json:"at"` // in milliseconds
	Labels map[string]string `json:"labels"`
	Failed string            `json:"failed,omitempty"`
	Text   string            `json:"-"`
}

// Record writes until ctx ends. targets are asked for before each round.
func Record(ctx context.Context, out io.WriteCloser, every time.Duration, targets func() []Target) (err error) {
	packed := gzip.NewWriter(out)
	defer func() { err = errors.Join(err, packed.Close(), out.Close()) }()
	client := &http.Client{Timeout: every} // a target that hangs does not delay others
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		for _, s := range round(ctx, client, targets()) {
			if err := s.write(packed); err != nil {
				return err
			}
		}
		if err := packed.Flush(); err != nil { // a process that is killed leaves what it has
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// round scrapes all targets at once.
func round(ctx context.Context, client *http.Client, targets []Target) []Scrape {
	out := make([]Scrape, len(targets))
	var group sync.WaitGroup
	for i, target := range targets {
		group.Go(func() {
			out[i] = Scrape{At: time.Now().UnixMilli(), Labels: target.Labels}
			text, err := get(ctx, client, target.URL)
			if err != nil {
				out[i].Failed = err.Error()
				return
			}
			out[i].Text = text
		})
	}
	group.Wait()
	return out
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", url, resp.Status)
	}
	var kept strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if text := lines.Text(); ours(text) {
			kept.WriteString(text + "\n")
		}
	}
	return kept.String(), lines.Err()
}

// ours leaves out help, and what Go says of itself.
func ours(line string) bool {
	line = strings.TrimPrefix(line, "# TYPE ")
	return strings.HasPrefix(line, "rollcall_") || strings.HasPrefix(line, "process_")
}

func (s Scrape) write(w io.Writer) error {
	head, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n%s", Mark, head, s.Text)
	return err
}
