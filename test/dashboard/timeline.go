package dashboard

import (
	"fmt"
	"html"
	"strings"
)

// timeline draws a bar for each line, in the color of what its value means.
func (v View) timeline(p Panel, lines []drawn, width, height float64) (string, error) {
	const wide = 170
	pl := plot{left: wide, top: 4, width: width - wide - 8, height: height - axisHeight - 4, from: v.From.UnixMilli(), to: v.To.UnixMilli(), most: float64(len(lines))}
	step := v.step(p).Milliseconds()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg width="%.0f" height="%.0f">%s`, width, height, v.timeAxis(pl, height))
	high := min(pl.height/float64(len(lines)), 34)
	for i, l := range lines {
		y := pl.top + float64(i)*high
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, wide-8, y+high/2+4, html.EscapeString(l.Name))
		for _, part := range parts(l.Points, step) {
			for from := 0; from < len(part); {
				to := from
				for to+1 < len(part) && part[to+1].V == part[from].V {
					to++
				}
				text, mapped := l.text(part[from].V)
				c, err := named(or(mapped, l.reached(part[from].V)))
				if err != nil {
					return "", fmt.Errorf("%s: %w", p.Title, err)
				}
				if l.Color.Mode == "fixed" {
					c = l.color
				}
				x, end := pl.x(part[from].At), min(pl.x(part[to].At+step), pl.left+pl.width)
				fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity="0.8"/>`, x, y+2, end-x, high-4, c)
				if end-x > float64(len(text))*7+8 {
					fmt.Fprintf(&b, `<text class="in" x="%.1f" y="%.1f">%s</text>`, x+5, y+high/2+4, html.EscapeString(text))
				}
				from = to + 1
			}
		}
	}
	b.WriteString("</svg>")
	return b.String(), nil
}
