package dashboard

import "encoding/json"

// set puts a new value in; to decode into the old one would change that of the defaults, too.
func set[T any](at *T, text json.RawMessage) error {
	var fresh T
	err := json.Unmarshal(text, &fresh)
	*at = fresh
	return err
}

// properties are those that an override may set.
var properties = map[string]func(*Field, json.RawMessage) error{
	"unit":                     func(f *Field, v json.RawMessage) error { return set(&f.Unit, v) },
	"decimals":                 func(f *Field, v json.RawMessage) error { return set(&f.Decimals, v) },
	"color":                    func(f *Field, v json.RawMessage) error { return set(&f.Color, v) },
	"mappings":                 func(f *Field, v json.RawMessage) error { return set(&f.Mappings, v) },
	"thresholds":               func(f *Field, v json.RawMessage) error { return set(&f.Thresholds, v) },
	"custom.width":             func(f *Field, v json.RawMessage) error { return set(&f.Custom.Width, v) },
	"custom.cellOptions":       func(f *Field, v json.RawMessage) error { return set(&f.Custom.CellOptions, v) },
	"custom.lineWidth":         func(f *Field, v json.RawMessage) error { return set(&f.Custom.LineWidth, v) },
	"custom.fillOpacity":       func(f *Field, v json.RawMessage) error { return set(&f.Custom.FillOpacity, v) },
	"custom.lineInterpolation": func(f *Field, v json.RawMessage) error { return set(&f.Custom.LineInterpolation, v) },
}
