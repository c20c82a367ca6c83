package credentials

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretPrintsNothing(t *testing.T) {
	s := NewSecret("hunter2")
	type holder struct {
		Password Secret
		hidden   Secret
	}
	h := holder{Password: s, hidden: s}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "holder", h)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "holder", h)
	asJSON, err := json.Marshal(h)
	require.NoError(t, err)
	for _, text := range []string{
		fmt.Sprint(s), fmt.Sprintf("%s %v %+v %#v %q %x", s, s, s, s, s, s), fmt.Sprintf("%v %+v %#v", h, h, h), fmt.Sprintf("%v", &h),
		string(asJSON), log.String(),
	} {
		require.NotContains(t, text, "hunter2")
		require.NotContains(t, text, fmt.Sprintf("%x", "hunter2"))
	}
	require.Equal(t, "hunter2", s.Reveal())
}
