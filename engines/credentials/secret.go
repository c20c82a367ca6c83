package credentials

import (
	"log/slog"
)

// Secret is a string that prints nothing: neither fmt, encoding/json nor slog
// show it. Only Reveal does. The value is behind a pointer because fmt does not
// ask unexported fields how they want to be printed.
type Secret struct{ value *string }

// NewSecret wraps a value.
func NewSecret(value string) Secret { return Secret{&value} }

// Reveal returns the value.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Hidden replaces a secret in texts.
const Hidden = "[hidden]"

func (s Secret) String() string               { return Hidden }
func (s Secret) GoString() string             { return Hidden }
func (s Secret) MarshalText() ([]byte, error) { return []byte(Hidden), nil }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(Hidden) }
