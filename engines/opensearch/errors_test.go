package opensearch

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/web"
)

func TestErrorTexts(t *testing.T) {
	for body, want := range map[string][2]string{
		`{"error":{"root_cause":[],"type":"illegal_argument_exception","reason":"unknown setting"},"status":400}`: {"illegal_argument_exception", "unknown setting"},
		`{"error":{"type":"master_not_discovered_exception","reason":null},"status":503}`:                         {"master_not_discovered_exception", ""},
		`{"error":{"type":"security_exception","reason":"no permissions for [cluster:monitor/state] and User [name=ann, backend_roles=[], requestedTenant=null]"},"status":403}`: {
			"security_exception", "no permissions for [cluster:monitor/state]"},
		"Unauthorized ann:" + testPassword:               {},
		"<html>" + testPassword + "</html>":              {},
		`{"error":"Incorrect HTTP method","status":405}`: {},
	} {
		kind, words := errorText([]byte(body))
		require.Equal(t, want, [2]string{kind, words}, body)
	}
}

func TestRefused(t *testing.T) {
	for want, errs := range map[bool][]error{
		true:  {&web.StatusError{Status: 400}, fmt.Errorf("x: %w", &web.StatusError{Status: 503}), &web.StatusError{Status: 403, Kind: "cluster_block_exception"}},
		false: {nil, errors.New("x"), &web.StatusError{Status: 401}, &web.StatusError{Status: 403, Kind: "security_exception"}},
	} {
		for _, err := range errs {
			require.Equal(t, want, refused(err), "%v", err)
		}
	}
}
