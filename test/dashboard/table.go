package dashboard

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Table is what a panel of that type shows. A cell is a string or a float64.
type Table struct {
	Columns []string
	Rows    [][]any
}

// tabulate makes rows of instant answers, as Grafana does: the time, each label, the value.
func tabulate(p Panel, lines []Line) (Table, error) {
	t := Table{Columns: []string{"Time"}}
	for _, l := range lines {
		for name := range l.Labels.Map() {
			if !slices.Contains(t.Columns, name) {
				t.Columns = append(t.Columns, name)
			}
		}
	}
	slices.Sort(t.Columns[1:])
	t.Columns = append(t.Columns, "Value")
	if len(p.Targets) > 1 {
		return t, fmt.Errorf("%s: a table of several queries is not known here", p.Title)
	}
	for _, l := range lines {
		newest := l.Points[len(l.Points)-1]
		row := []any{time.UnixMilli(newest.At).UTC().Format(time.DateTime)}
		for _, name := range t.Columns[1 : len(t.Columns)-1] {
			row = append(row, l.Labels.Get(name))
		}
		t.Rows = append(t.Rows, append(row, newest.V))
	}
	for _, tr := range p.Transformations {
		change, ok := transformations[tr.ID]
		if !ok {
			return t, fmt.Errorf("%s: the transformation %q is not known here", p.Title, tr.ID)
		}
		var err error
		if t, err = change(t, tr.Options); err != nil {
			return t, fmt.Errorf("%s: %s: %w", p.Title, tr.ID, err)
		}
	}
	for _, by := range slices.Backward(p.Options.SortBy) {
		at := slices.Index(t.Columns, by.DisplayName)
		if at < 0 {
			continue // no row, no column
		}
		slices.SortStableFunc(t.Rows, func(a, b []any) int {
			if by.Desc {
				a, b = b, a
			}
			return compare(a[at], b[at])
		})
	}
	return t, nil
}

func compare(a, b any) int {
	x, isX := a.(float64)
	y, isY := b.(float64)
	if isX && isY {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	return slices.Compare([]byte(fmt.Sprint(a)), []byte(fmt.Sprint(b)))
}

var transformations = map[string]func(Table, json.RawMessage) (Table, error){
	"organize":         organize,
	"groupingToMatrix": matrix,
}

func organize(t Table, options json.RawMessage) (Table, error) {
	var o struct {
		ExcludeByName map[string]bool   `json:"excludeByName"`
		IndexByName   map[string]int    `json:"indexByName"`
		RenameByName  map[string]string `json:"renameByName"`
	}
	if err := json.Unmarshal(options, &o); err != nil {
		return t, err
	}
	var order []int
	for i, name := range t.Columns {
		if !o.ExcludeByName[name] {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return o.IndexByName[t.Columns[a]] - o.IndexByName[t.Columns[b]] })
	var out Table
	for _, i := range order {
		name := t.Columns[i]
		if to := o.RenameByName[name]; to != "" {
			name = to
		}
		out.Columns = append(out.Columns, name)
	}
	for _, row := range t.Rows {
		var kept []any
		for _, i := range order {
			kept = append(kept, row[i])
		}
		out.Rows = append(out.Rows, kept)
	}
	return out, nil
}

// matrix has a row for each value of one column, and a column for each of another.
func matrix(t Table, options json.RawMessage) (Table, error) {
	var o struct{ RowField, ColumnField, ValueField string }
	if err := json.Unmarshal(options, &o); err != nil {
		return t, err
	}
	row, column, value := slices.Index(t.Columns, o.RowField), slices.Index(t.Columns, o.ColumnField), slices.Index(t.Columns, o.ValueField)
	if len(t.Rows) == 0 {
		return Table{}, nil
	}
	if row < 0 || column < 0 || value < 0 {
		return t, fmt.Errorf("there is no %s, %s or %s among %q", o.RowField, o.ColumnField, o.ValueField, t.Columns)
	}
	out := Table{Columns: []string{o.RowField + `\` + o.ColumnField}}
	at := map[string]int{}
	for _, r := range t.Rows {
		name, ok := r[column].(string)
		if !ok {
			name = strconv.FormatFloat(r[column].(float64), 'g', -1, 64)
		}
		if !slices.Contains(out.Columns, name) {
			out.Columns = append(out.Columns, name)
		}
		key := fmt.Sprint(r[row])
		if _, known := at[key]; !known {
			at[key] = len(out.Rows)
			out.Rows = append(out.Rows, []any{key})
		}
		line := &out.Rows[at[key]]
		for len(*line) < len(out.Columns) {
			*line = append(*line, "")
		}
		(*line)[slices.Index(out.Columns, name)] = r[value]
	}
	for i := range out.Rows {
		for len(out.Rows[i]) < len(out.Columns) {
			out.Rows[i] = append(out.Rows[i], "")
		}
	}
	return out, nil
}

// table draws one, a column's numbers with the overrides for its name.
func (v View) table(p Panel, answers []Line) (string, error) {
	t, err := tabulate(p, answers)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("<table><tr>")
	for i, c := range t.Columns {
		f, err := p.field(c, "")
		if err != nil {
			return "", err
		}
		width := ""
		if f.Custom.Width > 0 {
			width = fmt.Sprintf(` style="width:%.0fpx"`, f.Custom.Width)
		}
		class := ""
		if _, isNumber := t.Rows[0][i].(float64); isNumber {
			class = ` class="number"`
		}
		fmt.Fprintf(&b, "<th%s%s>%s</th>", class, width, html.EscapeString(c))
	}
	b.WriteString("</tr>")
	for _, row := range t.Rows {
		b.WriteString("<tr>")
		for i, cell := range row {
			n, isNumber := cell.(float64)
			if !isNumber {
				fmt.Fprintf(&b, "<td>%s</td>", html.EscapeString(fmt.Sprint(cell)))
				continue
			}
			f, err := p.field(t.Columns[i], "")
			if err != nil {
				return "", err
			}
			text, mapped := f.text(n)
			style := ""
			switch name := or(mapped, f.reached(n)); f.Custom.CellOptions.Type {
			case "color-text", "color-background":
				c, err := named(name)
				if err != nil {
					return "", fmt.Errorf("%s: %w", p.Title, err)
				}
				switch {
				case c == "transparent":
				case f.Custom.CellOptions.Type == "color-background":
					style = "color:#111217;background:" + c
				default:
					style = "color:" + c
				}
			}
			fmt.Fprintf(&b, `<td class="number" style="%s">%s</td>`, style, html.EscapeString(text))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table>")
	return b.String(), nil
}
