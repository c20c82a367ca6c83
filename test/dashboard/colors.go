package dashboard

import (
	"fmt"
	"strings"
)

// classic is Grafana's palette, in its order.
var classic = []string{"#73BF69", "#F2CC0C", "#8AB8FF", "#FF780A", "#F2495C", "#5794F2", "#B877D9", "#705DA0", "#37872D", "#FADE2A", "#447EBC", "#C15C17", "#890F02", "#0A437C", "#6D1F62", "#584477"}

var names = map[string]string{
	"green": "#73BF69", "yellow": "#FADE2A", "orange": "#FF9830", "red": "#F2495C", "blue": "#5794F2", "purple": "#B877D9",
	"light-green": "#96D98D", "dark-green": "#37872D", "semi-dark-green": "#56A64B", "dark-orange": "#FA6400", "dark-red": "#C4162A",
	"light-blue": "#8AB8FF", "semi-dark-blue": "#3274D9", "dark-blue": "#1F60C4", "super-light-blue": "#C0D8FF", "text": "#CCCCDC", "gray": "#8E8E8E", "transparent": "transparent",
}

// named returns what a color's name means.
func named(name string) (string, error) {
	if strings.HasPrefix(name, "#") {
		return name, nil
	}
	if c, ok := names[name]; ok {
		return c, nil
	}
	return "", fmt.Errorf("color %q: not among those that are known", name)
}

// reached is the color of the last threshold that a value has reached.
func (f Field) reached(v float64) string {
	c := ""
	for _, step := range f.Thresholds.Steps {
		if step.Value == nil || v >= *step.Value {
			c = step.Color
		}
	}
	return c
}

// text is a value as it is shown, and the color that a mapping gives it.
func (f Field) text(v float64) (text, mapped string) {
	for _, m := range f.Mappings {
		if to, ok := m.Options[fmt.Sprint(v)]; ok {
			return to.Text, to.Color
		}
	}
	return Format(v, f.Unit, f.Decimals), ""
}
