package dashboard

import (
	"encoding/json"
	"fmt"
	"os"
)

// Dashboard is what is drawn of Grafana's JSON.
type Dashboard struct {
	Title      string  `json:"title"`
	Panels     []Panel `json:"panels"`
	Templating struct {
		List []Variable `json:"list"`
	} `json:"templating"`
}

// Variable is chosen at the top.
type Variable struct {
	Name       string `json:"name"`
	Label      string `json:"label"`
	Type       string `json:"type"`
	Definition string `json:"definition"`
	Regex      string `json:"regex"`
	AllValue   string `json:"allValue"`
	IncludeAll bool   `json:"includeAll"`
}

// Panel is one place of the dashboard.
type Panel struct {
	ID              int              `json:"id"`
	Type            string           `json:"type"`
	Title           string           `json:"title"`
	Description     string           `json:"description"`
	GridPos         Grid             `json:"gridPos"`
	Collapsed       bool             `json:"collapsed"`
	Panels          []Panel          `json:"panels"`
	FieldConfig     FieldConfig      `json:"fieldConfig"`
	Options         Options          `json:"options"`
	Targets         []Target         `json:"targets"`
	Transformations []Transformation `json:"transformations"`
}

// Grid is a place in units of 1/24 of the width and 38 pixels.
type Grid struct{ X, Y, W, H int }

// Target is a query.
type Target struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
	Format       string `json:"format"`
	Instant      bool   `json:"instant"`
}

// FieldConfig says how values look.
type FieldConfig struct {
	Defaults  Field      `json:"defaults"`
	Overrides []Override `json:"overrides"`
}

// Field is how the values of one series or column look.
type Field struct {
	Unit     string   `json:"unit"`
	Decimals *int     `json:"decimals"`
	Min      *float64 `json:"min"`
	Max      *float64 `json:"max"`
	NoValue  string   `json:"noValue"`
	Color    struct {
		Mode       string `json:"mode"`
		FixedColor string `json:"fixedColor"`
	} `json:"color"`
	Mappings []struct {
		Type    string             `json:"type"`
		Options map[string]Mapping `json:"options"`
	} `json:"mappings"`
	Thresholds struct {
		Steps []Threshold `json:"steps"`
	} `json:"thresholds"`
	Custom Custom `json:"custom"`
}

// Custom is what belongs to one type of panel.
type Custom struct {
	DrawStyle         string  `json:"drawStyle"`
	FillOpacity       float64 `json:"fillOpacity"`
	LineWidth         float64 `json:"lineWidth"`
	LineInterpolation string  `json:"lineInterpolation"`
	Stacking          struct {
		Mode string `json:"mode"`
	} `json:"stacking"`
	ThresholdsStyle struct {
		Mode string `json:"mode"`
	} `json:"thresholdsStyle"`
	CellOptions struct {
		Type string `json:"type"`
	} `json:"cellOptions"`
	Width float64 `json:"width"`
}

// Mapping is a text instead of a value.
type Mapping struct {
	Text  string `json:"text"`
	Color string `json:"color"`
}

// Threshold begins at a value; the first has none.
type Threshold struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

// Override is for the series or column with a name.
type Override struct {
	Matcher struct {
		ID      string `json:"id"`
		Options string `json:"options"`
	} `json:"matcher"`
	Properties []struct {
		ID    string          `json:"id"`
		Value json.RawMessage `json:"value"`
	} `json:"properties"`
}

// Options are of a panel as a whole.
type Options struct {
	TextMode    string `json:"textMode"`
	ColorMode   string `json:"colorMode"`
	Orientation string `json:"orientation"`
	Legend      struct {
		DisplayMode string   `json:"displayMode"`
		Placement   string   `json:"placement"`
		ShowLegend  bool     `json:"showLegend"`
		Calcs       []string `json:"calcs"`
	} `json:"legend"`
	SortBy []struct {
		DisplayName string `json:"displayName"`
		Desc        bool   `json:"desc"`
	} `json:"sortBy"`
}

// Transformation changes the rows of a table.
type Transformation struct {
	ID      string          `json:"id"`
	Options json.RawMessage `json:"options"`
}

// Read reads a dashboard.
func Read(file string) (d Dashboard, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}
