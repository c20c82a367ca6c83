package model

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is a moment, in JSON as RFC 3339 text; the zero time is null.
//
// +kubebuilder:object:generate=false
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Format=date-time
type Time struct {
	time.Time `json:"-"`
}

// MaxSeconds is the longest duration that a snapshot may contain, ten years. It keeps all
// arithmetic far from overflow.
const MaxSeconds = 10 * 366 * 86400

// At returns t in UTC without its monotonic clock, which JSON cannot carry.
func At(t time.Time) Time { return Time{t.UTC().Round(0)} }

// MarshalJSON writes RFC 3339 in UTC, with fractions of a second only if there are any.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("year %d is outside of what RFC 3339 can say", y)
	}
	return json.Marshal(t.UTC().Format(time.RFC3339Nano))
}

// UnmarshalJSON reads RFC 3339 text or null.
func (t *Time) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*t = Time{}
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%.40s is not a time such as 2026-11-20T12:00:00Z", data)
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("%q is not a time such as 2026-11-20T12:00:00Z", text)
	}
	*t = At(parsed)
	return nil
}

// DeepCopyInto writes the same moment to out.
func (t *Time) DeepCopyInto(out *Time) { *out = *t }

// DeepCopy is a pointer to the same moment.
func (t *Time) DeepCopy() *Time {
	if t == nil {
		return nil
	}
	out := *t
	return &out
}
