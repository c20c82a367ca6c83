package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/rollcall-dev/rollcall/test/e2e/scrapes"
)

// Packing is how a recording becomes a block of Prometheus.
type Packing struct {
	Recording string
	// Dir is where the block goes: a data directory that a Prometheus can be started on.
	Dir string
	// Every is the interval of the scrapes that are kept.
	Every time.Duration
	// From and To, after the recording's beginning, are what is kept; To 0 is all.
	From, To time.Duration
}

// kept are metrics of every Go program that the dashboard asks for; the others would take as much room as Rollcall's.
var kept = []string{"process_resident_memory_bytes", "process_cpu_seconds_total"}

// Pack keeps one scrape of each target in an interval, and marks what has vanished as
// stale, as Prometheus does.
func Pack(ctx context.Context, p Packing) (err error) {
	blocks, err := tsdb.NewBlockWriter(slog.New(slog.DiscardHandler), p.Dir, (24 * time.Hour).Milliseconds())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, blocks.Close()) }()
	w := &packer{Packing: p, appender: blocks.Appender(ctx), targets: map[uint64]*target{}}
	if err := scrapes.Read(p.Recording, w.scrape); err != nil {
		return err
	}
	if err := w.vanished(math.MaxInt64); err != nil {
		return err
	}
	if err := w.appender.Commit(); err != nil {
		return err
	}
	_, err = blocks.Flush(ctx)
	return err
}

type packer struct {
	Packing
	appender storage.Appender
	began    int64
	slot     int64 // the interval that is being read
	targets  map[uint64]*target
}

// target is what the last scrape had.
type target struct {
	slot   int64
	series map[uint64]labels.Labels
}

func (w *packer) scrape(s scrapes.Scrape) error {
	if w.began == 0 {
		w.began = s.At
	}
	after := time.Duration(s.At-w.began) * time.Millisecond
	if after < w.From || w.To > 0 && after > w.To {
		return nil
	}
	// At even times, as Prometheus keeps them, a series that does not change takes next to no room.
	every := w.Every.Milliseconds()
	slot := s.At / every * every
	if slot != w.slot {
		if err := w.vanished(slot); err != nil {
			return err
		}
		w.slot = slot
	}
	of := labels.FromMap(s.Labels)
	t := w.targets[of.Hash()]
	if t == nil {
		t = &target{}
		w.targets[of.Hash()] = t
	}
	if t.slot == slot {
		return nil
	}
	t.slot = slot
	return w.answer(t, of, s)
}

// vanished ends the series of targets that are scraped no more.
func (w *packer) vanished(now int64) error {
	for key, t := range w.targets {
		if now == math.MaxInt64 || t.slot >= w.slot {
			continue
		}
		for _, series := range t.series {
			if err := w.append(series, w.slot, math.Float64frombits(value.StaleNaN)); err != nil {
				return err
			}
		}
		delete(w.targets, key)
	}
	return nil
}

func (w *packer) answer(t *target, of labels.Labels, s scrapes.Scrape) error {
	now := map[uint64]labels.Labels{}
	add := func(series labels.Labels, v float64) error {
		now[series.Hash()] = series
		return w.append(series, t.slot, v)
	}
	up := 1.0
	if s.Failed != "" {
		up = 0
	}
	if err := add(labels.NewBuilder(of).Set(model.MetricNameLabel, "up").Labels(), up); err != nil {
		return err
	}
	parser, err := textparse.New([]byte(s.Text), "text/plain", labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return err
	}
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s at %d: %w", of, s.At, err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, v := parser.Series()
		var series labels.Labels
		parser.Labels(&series)
		if name := series.Get(model.MetricNameLabel); strings.HasPrefix(name, "process_") && !slices.Contains(kept, name) {
			continue
		}
		full := labels.NewBuilder(series)
		of.Range(func(l labels.Label) { full.Set(l.Name, l.Value) })
		if err := add(full.Labels(), v); err != nil {
			return err
		}
	}
	for key, series := range t.series {
		if _, still := now[key]; !still {
			if err := w.append(series, t.slot, math.Float64frombits(value.StaleNaN)); err != nil {
				return err
			}
		}
	}
	t.series = now
	return nil
}

func (w *packer) append(series labels.Labels, at int64, v float64) error {
	_, err := w.appender.Append(0, series, at, v)
	return err
}
