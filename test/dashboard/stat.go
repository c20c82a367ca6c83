package dashboard

import (
	"fmt"
	"html"
	"strings"
)

// stat shows the newest value of each line.
func stat(p Panel, lines []drawn) (string, error) {
	var b strings.Builder
	b.WriteString(`<div class="stats">`)
	for _, l := range lines {
		newest := l.Points[len(l.Points)-1].V
		text, mapped := l.text(newest)
		name := or(mapped, l.reached(newest))
		c, err := named(or(name, "text"))
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.Title, err)
		}
		value, caption := text, ""
		switch p.Options.TextMode {
		case "name":
			value = l.Name
		case "value_and_name":
			caption = l.Name
		case "auto":
			if len(lines) > 1 {
				caption = l.Name
			}
		case "value":
		default:
			return "", fmt.Errorf("%s: the text mode %q is not known here", p.Title, p.Options.TextMode)
		}
		style, class := "color:"+c, "stat"
		if p.Options.ColorMode == "background" {
			style, class = "background:"+c+";color:#111217", "stat full"
		}
		size := 40
		if wide := float64(p.GridPos.W)*cellWidth/float64(len(lines)) - 30; float64(len(value))*22 > wide {
			size = max(14, int(wide/float64(len(value))/0.58))
		}
		fmt.Fprintf(&b, `<div class="%s" style="%s"><small>%s</small><b style="font-size:%dpx">%s</b></div>`, class, style, html.EscapeString(caption), size, html.EscapeString(value))
	}
	b.WriteString("</div>")
	return b.String(), nil
}
