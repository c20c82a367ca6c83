package dashboard

import (
	"context"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	pageWidth = 1600
	margin    = 8
	cellWidth = (pageWidth - margin) / 24.0
	// A unit of height is 30 pixels, with 8 between.
	unitHeight = 38
	titleHigh  = 30
	lineHigh   = 19
)

// drawn is a line with all that is said of how it looks.
type drawn struct {
	Line
	Field
	color string
}

// place is a panel on the page.
type place struct {
	Title, Description, Type string
	X, Y, W, H               int
	Body                     template.HTML
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// Draw writes the page.
func (v View) Draw(ctx context.Context, w io.Writer, d Dashboard, note string) error {
	var places []place
	bottom := 0
	for _, p := range d.Panels {
		body, err := v.body(ctx, d, p)
		if err != nil {
			return err
		}
		title, err := v.Substitute(d, strings.ReplaceAll(p.Title, "$cluster", "${cluster}"), v.step(p))
		if err != nil {
			return err
		}
		if p.Type == "row" {
			title = strings.ReplaceAll(p.Title, "$cluster", strings.Join(v.names(ctx), " + "))
		}
		g := p.GridPos
		at := place{Title: title, Description: p.Description, Type: p.Type, X: int(float64(g.X)*cellWidth) + margin, Y: g.Y * unitHeight, W: int(float64(g.W)*cellWidth) - margin, H: g.H*unitHeight - margin, Body: template.HTML(body)}
		places = append(places, at)
		bottom = max(bottom, at.Y+at.H)
	}
	return page.Execute(w, map[string]any{
		"Title": d.Title, "Note": note, "Places": places, "Width": pageWidth, "Height": bottom + margin,
		"From": v.From.UTC().Format("2006-01-02 15:04"), "To": v.To.UTC().Format("15:04 MST"), "Cluster": v.names(ctx),
	})
}

// names are the databases that are chosen.
func (v View) names(ctx context.Context) []string {
	all, err := v.Store.Values(ctx, "rollcall_pods", "cluster")
	if chosen := v.Chosen["cluster"]; chosen != "" || err != nil {
		return []string{chosen}
	}
	slices.Sort(all)
	return all
}

func (v View) body(ctx context.Context, d Dashboard, p Panel) (string, error) {
	if p.Type == "row" {
		return "", nil
	}
	answers, err := v.Answers(ctx, d, p)
	if err != nil {
		return "", err
	}
	if len(answers) == 0 {
		return `<div class="none">` + html.EscapeString(or(p.FieldConfig.Defaults.NoValue, "No data")) + `</div>`, nil
	}
	var lines []drawn
	for i, l := range answers {
		f, err := p.field(l.Name, l.RefID)
		if err != nil {
			return "", err
		}
		if _, ok := units[f.Unit]; !ok {
			return "", fmt.Errorf("%s: the unit %q is not known here", p.Title, f.Unit)
		}
		c := classic[i%len(classic)]
		if f.Color.Mode == "fixed" {
			if c, err = named(f.Color.FixedColor); err != nil {
				return "", fmt.Errorf("%s: %w", p.Title, err)
			}
		}
		lines = append(lines, drawn{l, f, c})
	}
	width, height := float64(p.GridPos.W)*cellWidth-2*margin-2, float64(p.GridPos.H*unitHeight-margin-titleHigh-4)
	switch p.Type {
	case "timeseries":
		legend, high := legend(p, lines, width, height)
		svg, err := v.chart(p, lines, width, height-high)
		return svg + legend, err
	case "heatmap":
		slices.SortFunc(lines, func(a, b drawn) int { return compare(bound(a.Name), bound(b.Name)) })
		return v.heatmap(p, lines, width, height), nil
	case "stat":
		return stat(p, lines)
	case "table":
		return v.table(p, answers)
	case "state-timeline":
		return v.timeline(p, lines, width, height)
	}
	return "", fmt.Errorf("%s: panels of the type %q are not known here", p.Title, p.Type)
}

func bound(le string) float64 {
	v, err := strconv.ParseFloat(le, 64)
	if err != nil {
		return -1
	}
	return v
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// legend is a list below the chart, which takes at most a third of the panel, as in Grafana.
func legend(p Panel, lines []drawn, width, height float64) (text string, high float64) {
	if !p.Options.Legend.ShowLegend {
		return "", 0
	}
	rows, x := 1, 0.0
	var b strings.Builder
	for _, l := range lines {
		wide := float64(len(l.Name))*6.6 + 30
		if x+wide > width && x > 0 {
			rows, x = rows+1, 0
		}
		x += wide
		fmt.Fprintf(&b, `<span class="key"><i style="background:%s"></i>%s</span>`, l.color, html.EscapeString(l.Name))
	}
	high = min(float64(rows)*lineHigh+4, height*0.35)
	return fmt.Sprintf(`<div class="legend" style="height:%.0fpx">%s</div>`, high, b.String()), high
}
