package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// View is a time of a recording, and what is chosen at the top.
type View struct {
	Store    *Store
	From, To time.Time
	// Scrape is the interval that Grafana's data source is configured with.
	Scrape time.Duration
	// Chosen are values of variables; one that is missing stands for all.
	Chosen map[string]string
}

// Line is a series with its name in the legend and the query that it is from.
type Line struct {
	Series
	Name  string
	RefID string
}

// Answers are those of all queries of a panel.
func (v View) Answers(ctx context.Context, d Dashboard, p Panel) ([]Line, error) {
	var lines []Line
	step := v.step(p)
	for _, t := range p.Targets {
		expr, err := v.Substitute(d, t.Expr, step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Title, err)
		}
		var found []Series
		if t.Instant {
			found, err = v.Store.Instant(ctx, expr, v.To)
		} else {
			found, err = v.Store.Range(ctx, expr, v.From, v.To, step)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Title, err)
		}
		for _, s := range found {
			name := Legend(t, s.Labels, len(found) == 1)
			lines = append(lines, Line{s, name, t.RefID})
		}
	}
	return lines, nil
}

// step is $__interval: one point for each pixel or so, no finer than scrapes.
func (v View) step(p Panel) time.Duration {
	points := math.Max(1, float64(p.GridPos.W)*cellWidth)
	step := time.Duration(float64(v.To.Sub(v.From)) / points)
	for _, round := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute} {
		if round >= step && round >= v.Scrape {
			return round
		}
	}
	return 10 * time.Minute
}

var variable = regexp.MustCompile(`\$\{?(\w+)\}?`)

// Substitute puts the variables' values into a query, or into a title.
func (v View) Substitute(d Dashboard, text string, step time.Duration) (string, error) {
	values := map[string]string{
		"__interval":      step.String(),
		"__rate_interval": max(step+v.Scrape, 4*v.Scrape).String(),
		"__range":         v.To.Sub(v.From).Truncate(time.Second).String(),
	}
	for _, one := range d.Templating.List {
		values[one.Name] = cmp.Or(v.Chosen[one.Name], one.AllValue)
	}
	var unknown error
	out := variable.ReplaceAllStringFunc(text, func(found string) string {
		name := variable.FindStringSubmatch(found)[1]
		value, ok := values[name]
		if !ok {
			unknown = fmt.Errorf("no variable $%s: %s", name, text)
		}
		return value
	})
	return out, unknown
}

var label = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

// Legend is a line's name. A label that the series has not is left out, as Grafana does.
func Legend(t Target, of labels.Labels, alone bool) string {
	if t.LegendFormat != "" && t.LegendFormat != "__auto" {
		return label.ReplaceAllStringFunc(t.LegendFormat, func(found string) string { return of.Get(label.FindStringSubmatch(found)[1]) })
	}
	if alone && of.IsEmpty() {
		return "Value"
	}
	return of.String()
}

// Unresolved are the labels in a legend that a series has not.
func Unresolved(t Target, of labels.Labels) (missing []string) {
	for _, found := range label.FindAllStringSubmatch(t.LegendFormat, -1) {
		if !of.Has(found[1]) {
			missing = append(missing, found[1])
		}
	}
	return missing
}

// field is how a line or column looks, with the overrides for its name.
func (p Panel) field(name, refID string) (Field, error) {
	f := p.FieldConfig.Defaults
	for _, o := range p.FieldConfig.Overrides {
		var matches bool
		switch o.Matcher.ID {
		case "byName":
			matches = o.Matcher.Options == name
		case "byFrameRefID":
			matches = o.Matcher.Options == refID
		case "byRegexp":
			re, err := regexp.Compile(strings.Trim(o.Matcher.Options, "/"))
			if err != nil {
				return f, fmt.Errorf("%s: %w", p.Title, err)
			}
			matches = re.MatchString(name)
		default:
			return f, fmt.Errorf("%s: an override by %q is not known here", p.Title, o.Matcher.ID)
		}
		if !matches {
			continue
		}
		for _, property := range o.Properties {
			set, ok := properties[property.ID]
			if !ok {
				return f, fmt.Errorf("%s: an override of %q is not known here (%s are)", p.Title, property.ID, strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
			}
			if err := set(&f, property.Value); err != nil {
				return f, fmt.Errorf("%s: %s of %s: %w", p.Title, property.ID, name, err)
			}
		}
	}
	return f, nil
}
