package dashboard

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"
)

// plot is where a chart's values are in its picture.
type plot struct {
	left, top, width, height float64
	from, to                 int64
	least, most              float64
}

func (p plot) x(at int64) float64 {
	return p.left + p.width*float64(at-p.from)/float64(max(1, p.to-p.from))
}
func (p plot) y(v float64) float64 {
	return p.top + p.height*(1-(v-p.least)/(p.most-p.least))
}

const axisWidth, axisHeight = 70, 22

// chart draws a panel of the type timeseries, without its legend.
func (v View) chart(p Panel, lines []drawn, width, height float64) (string, error) {
	f := p.FieldConfig.Defaults
	step := v.step(p).Milliseconds()
	stacked := f.Custom.Stacking.Mode == "normal"
	below := map[int64]float64{}
	least, most := math.Inf(1), math.Inf(-1)
	tops := make([][]Point, len(lines))
	for i, l := range lines {
		for _, point := range l.Points {
			if math.IsNaN(point.V) || math.IsInf(point.V, 0) {
				continue
			}
			if stacked {
				below[point.At] += point.V
				point.V = below[point.At]
			}
			tops[i] = append(tops[i], point)
			least, most = min(least, point.V), max(most, point.V)
		}
	}
	if f.Min != nil {
		least = *f.Min
	}
	if f.Max != nil {
		most = *f.Max
	}
	if f.Custom.ThresholdsStyle.Mode != "" && f.Custom.ThresholdsStyle.Mode != "off" {
		for _, step := range f.Thresholds.Steps {
			if step.Value != nil && *step.Value < 4*most { // Grafana shows it anyway; one far away would flatten the lines here
				most = max(most, *step.Value)
			}
		}
	}
	unit := lines[0].Unit
	marks := ticks(least, most, unit, max(2, int(height/45)))
	pl := plot{left: axisWidth, top: 6, width: width - axisWidth - 8, height: height - axisHeight - 6, from: v.From.UnixMilli(), to: v.To.UnixMilli(), least: marks[0], most: marks[len(marks)-1]}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg width="%.0f" height="%.0f">`, width, height)
	for _, mark := range marks {
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %.1fh%.1f"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`, pl.left, pl.y(mark), pl.width, axisWidth-6, pl.y(mark)+4, html.EscapeString(Format(mark, unit, f.Decimals)))
	}
	b.WriteString(v.timeAxis(pl, height))
	if f.Custom.ThresholdsStyle.Mode != "" && f.Custom.ThresholdsStyle.Mode != "off" {
		for _, step := range f.Thresholds.Steps {
			if step.Value == nil || *step.Value > pl.most || *step.Value < pl.least {
				continue
			}
			c, err := named(step.Color)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, `<path d="M%.1f %.1fh%.1f" stroke="%s" stroke-dasharray="6 5" fill="none"/>`, pl.left, pl.y(*step.Value), pl.width, c)
		}
	}
	for i, l := range slices.Backward(lines) {
		for _, part := range parts(tops[i], step) {
			path := outline(pl, part, l.Custom.LineInterpolation, step)
			if opacity := l.Custom.FillOpacity; opacity > 0 {
				floor := pl.y(max(0, pl.least))
				end := pl.x(part[len(part)-1].At)
				fmt.Fprintf(&b, `<path d="%s L%.1f %.1f L%.1f %.1fZ" fill="%s" fill-opacity="%.2f"/>`, path, end, floor, pl.x(part[0].At), floor, l.color, opacity/100)
			}
			if len(part) == 1 { // a point alone
				fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="2" fill="%s"/>`, pl.x(part[0].At), pl.y(part[0].V), l.color)
			}
			fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="%.1f"/>`, path, l.color, cmp.Or(l.Custom.LineWidth, 1))
		}
	}
	b.WriteString("</svg>")
	return b.String(), nil
}

func (v View) timeAxis(pl plot, height float64) string {
	var b strings.Builder
	every := time.Duration(roundStep(max(60, v.To.Sub(v.From).Seconds()/(pl.width/80)), "s")) * time.Second
	for at := v.From.Truncate(every).Add(every); !at.After(v.To); at = at.Add(every) {
		x := pl.x(at.UnixMilli())
		if x > pl.left+pl.width-18 { // half a label
			break
		}
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %.1fv%.1f"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, pl.top, pl.height, x, height-6, at.UTC().Format("15:04"))
	}
	return b.String()
}

// parts are the stretches between which there is nothing.
func parts(points []Point, step int64) (out [][]Point) {
	for i, p := range points {
		if i == 0 || p.At-points[i-1].At > step {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

func outline(pl plot, points []Point, interpolation string, step int64) string {
	var b strings.Builder
	for i, p := range points {
		switch {
		case i == 0:
			fmt.Fprintf(&b, "M%.1f %.1f", pl.x(p.At), pl.y(p.V))
		case interpolation == "stepAfter":
			if p.V != points[i-1].V || i == len(points)-1 {
				fmt.Fprintf(&b, "H%.1fV%.1f", pl.x(p.At), pl.y(p.V))
			}
		default:
			fmt.Fprintf(&b, "L%.1f %.1f", pl.x(p.At), pl.y(p.V))
		}
	}
	return b.String()
}
