package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Store is a recording that answers queries.
type Store struct {
	blocks   []*tsdb.Block
	folders  []string // to be removed at the end
	engine   *promql.Engine
	From, To time.Time
}

// Open opens a directory with one block in it.
func Open(dir string) (*Store, error) {
	s := &Store{engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: 5e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: parser.NewParser(parser.Options{}),
	})}
	if err := s.add(dir); err != nil {
		return nil, err
	}
	meta := s.blocks[0].Meta()
	s.From, s.To = time.UnixMilli(meta.MinTime), time.UnixMilli(meta.MaxTime-1)
	return s, nil
}

func (s *Store) add(dir string) error {
	metas, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	if err != nil {
		return err
	}
	if len(metas) != 1 {
		return fmt.Errorf("%s: one block is wanted, and there are %d", dir, len(metas))
	}
	block, err := tsdb.OpenBlock(slog.New(slog.DiscardHandler), filepath.Dir(metas[0]), nil, nil)
	if err != nil {
		return err
	}
	s.blocks = append(s.blocks, block)
	return nil
}

// Close ends it.
func (s *Store) Close() error {
	var errs []error
	for _, b := range s.blocks {
		errs = append(errs, b.Close())
	}
	for _, dir := range s.folders {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

func (s *Store) queryable() storage.Queryable {
	return storage.QueryableFunc(func(from, to int64) (storage.Querier, error) {
		var list []storage.Querier
		for _, b := range s.blocks {
			q, err := tsdb.NewBlockQuerier(b, from, to)
			if err != nil {
				return nil, err
			}
			list = append(list, q)
		}
		return storage.NewMergeQuerier(list, nil, storage.ChainedSeriesMerge), nil
	})
}

// Point is a value at a time, in milliseconds.
type Point struct {
	At int64
	V  float64
}

// Series is the result of a query for one set of labels.
type Series struct {
	Labels labels.Labels
	Points []Point
}

// Range evaluates a query over a time, at each step.
func (s *Store) Range(ctx context.Context, expr string, from, to time.Time, step time.Duration) ([]Series, error) {
	query, err := s.engine.NewRangeQuery(ctx, s.queryable(), nil, expr, from, to, step)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	defer query.Close()
	matrix, err := query.Exec(ctx).Matrix()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	var out []Series
	for _, m := range matrix {
		series := Series{Labels: m.Metric.Copy()}
		for _, p := range m.Floats {
			series.Points = append(series.Points, Point{p.T, p.F})
		}
		out = append(out, series)
	}
	return out, nil
}

// Instant evaluates a query at a time.
func (s *Store) Instant(ctx context.Context, expr string, at time.Time) ([]Series, error) {
	query, err := s.engine.NewInstantQuery(ctx, s.queryable(), nil, expr, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	defer query.Close()
	vector, err := query.Exec(ctx).Vector()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	var out []Series
	for _, v := range vector {
		out = append(out, Series{Labels: v.Metric.Copy(), Points: []Point{{v.T, v.F}}})
	}
	return out, nil
}

// Values are those of a label, as Grafana's label_values() has them.
func (s *Store) Values(ctx context.Context, selector, label string) ([]string, error) {
	series, err := s.Range(ctx, fmt.Sprintf("count by (%s) (%s)", label, selector), s.From, s.To, 15*time.Second)
	var out []string
	for _, one := range series {
		out = append(out, one.Labels.Get(label))
	}
	return out, err
}

// Span is the part of a recording from a time after its beginning, for a while; 0 is all of it.
func (s *Store) Span(from, length time.Duration) (time.Time, time.Time) {
	begin := s.From.Add(from)
	if end := begin.Add(length); length > 0 && end.Before(s.To) {
		return begin, end
	}
	return begin, s.To
}
