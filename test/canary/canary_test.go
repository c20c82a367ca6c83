package canary

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	const password = "canary/p%w:r d@?#\"<&'é-7f3a9c"
	s := Secrets{"password": password}
	quoted, err := json.Marshal(map[string]string{"p": password})
	require.NoError(t, err)
	for name, text := range map[string]string{
		"plain":                "x" + password + "y",
		"cut off":              "x" + password[:16] + "…",
		"JSON":                 string(quoted),
		"quoted":               fmt.Sprintf("%q", password),
		"bytes":                fmt.Sprint([]byte(password)),
		"hex":                  hex.EncodeToString([]byte(password)),
		"capital hex":          strings.ToUpper(hex.EncodeToString([]byte(password))),
		"a query":              "?a=" + url.QueryEscape(password),
		"userinfo":             (&url.URL{Scheme: "http", Host: "h", User: url.UserPassword("u", password)}).String(),
		"base64":               base64.StdEncoding.EncodeToString([]byte(password)),
		"base64, of URLs":      base64.RawURLEncoding.EncodeToString([]byte(password)),
		"basic authentication": "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+password)),
		"a longer name":        "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("us:"+password)),
		"a name longer still":  "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("use:"+password)),
	} {
		t.Run(name, func(t *testing.T) { require.NotEmpty(t, s.Find(text), text) })
	}
	require.Empty(t, s.Find("no password here: [hidden], "+base64.StdEncoding.EncodeToString([]byte("canary"))+password[3:]))
}
