package dashboard

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// heatmap draws buckets: cumulative counts as Prometheus has them, told apart as Grafana does.
func (v View) heatmap(p Panel, lines []drawn, width, height float64) string {
	pl := plot{left: axisWidth, top: 6, width: width - axisWidth - 8, height: height - axisHeight - 6, from: v.From.UnixMilli(), to: v.To.UnixMilli(), most: float64(len(lines))}
	step := v.step(p).Milliseconds()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg width="%.0f" height="%.0f">%s`, width, height, v.timeAxis(pl, height))
	most := 0.0
	own := make([]map[int64]float64, len(lines))
	for i, l := range lines {
		own[i] = map[int64]float64{}
		for _, point := range l.Points {
			n := point.V
			if i > 0 {
				n -= at(lines[i-1].Points, point.At)
			}
			own[i][point.At] = n
			most = max(most, n)
		}
	}
	for i, l := range lines {
		if i%2 == 0 {
			fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, axisWidth-6, pl.y(float64(i)+0.5)+4, html.EscapeString(le(l)))
		}
		for _, point := range l.Points {
			if n := own[i][point.At]; n > 1e-9 && point.At >= pl.from {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#FF780A" fill-opacity="%.2f"/>`,
					pl.x(point.At-step), pl.y(float64(i)+1)+0.5, pl.x(point.At)-pl.x(point.At-step), pl.height/float64(len(lines))-1, 0.25+0.75*math.Sqrt(n/most))
			}
		}
	}
	b.WriteString("</svg>")
	return b.String()
}

// le is the upper bound of a bucket.
func le(l drawn) string {
	if bound(l.Name) < 0 || math.IsInf(bound(l.Name), 0) {
		return l.Name
	}
	return Format(bound(l.Name), l.Unit, nil)
}

func at(points []Point, when int64) float64 {
	for _, p := range points {
		if p.At == when {
			return p.V
		}
	}
	return 0
}
