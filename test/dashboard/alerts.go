package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb"
)

// evaluated is how often rules are looked at: as often as the recording has scrapes.
const evaluated = 5 * time.Second

// Alert evaluates the alerts of a file over the whole recording, as a Prometheus would
// have done meanwhile; queries have their series ALERTS then.
func (s *Store) Alert(ctx context.Context, file string) (err error) {
	list, err := alerting(file)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "alerts")
	if err != nil {
		return err
	}
	s.folders = append(s.folders, dir)
	blocks, err := tsdb.NewBlockWriter(slog.New(slog.DiscardHandler), dir, (24 * time.Hour).Milliseconds())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, blocks.Close()) }()
	appender := blocks.Appender(ctx)
	query := rules.EngineQueryFunc(s.engine, s.queryable())
	before := map[uint64]labels.Labels{}
	some := false
	for at := s.From; !at.After(s.To); at = at.Add(evaluated) {
		now := map[uint64]labels.Labels{}
		for _, rule := range list {
			samples, err := rule.Eval(ctx, 0, at, query, nil, 0)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", file, rule.Name(), err)
			}
			for _, sample := range samples {
				now[sample.Metric.Hash()] = sample.Metric
				if _, err := appender.Append(0, sample.Metric, at.UnixMilli(), sample.F); err != nil {
					return err
				}
				some = true
			}
		}
		for key, series := range before {
			if _, still := now[key]; !still {
				if _, err := appender.Append(0, series, at.UnixMilli(), math.Float64frombits(value.StaleNaN)); err != nil {
					return err
				}
			}
		}
		before = now
	}
	if !some {
		return nil
	}
	if err := appender.Commit(); err != nil {
		return err
	}
	if _, err := blocks.Flush(ctx); err != nil {
		return err
	}
	return s.add(dir)
}

func alerting(file string) ([]*rules.AlertingRule, error) {
	parse := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parse, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var list []*rules.AlertingRule
	for _, group := range groups.Groups {
		for _, r := range group.Rules {
			expr, err := parse.ParseExpr(r.Expr)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, r.Alert, err)
			}
			list = append(list, rules.NewAlertingRule(r.Alert, expr, time.Duration(r.For), time.Duration(r.KeepFiringFor),
				labels.FromMap(r.Labels), labels.EmptyLabels(), labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler)))
		}
	}
	return list, nil
}
