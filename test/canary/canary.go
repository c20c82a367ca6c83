// Package canary looks for secrets in what programs put out, in the forms in which they get there.
package canary

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Secrets are values that must not get out, by what they are.
type Secrets map[string]string

// least is how much of a secret counts as all of it: texts are cut, and lines are broken.
const least = 16

// Find returns which secrets are in a text and in what form, sorted.
func (s Secrets) Find(text string) []string {
	var found []string
	lower := strings.ToLower(text)
	for name, secret := range s {
		for form, value := range forms(secret) {
			if strings.Contains(text, value) || strings.HasPrefix(form, "hex") && strings.Contains(lower, value) {
				found = append(found, name+" as "+form)
			}
		}
	}
	slices.Sort(found)
	return found
}

func forms(secret string) map[string]string {
	head := secret[:min(len(secret), least)]
	all := map[string]string{
		"plain text":      head,
		"hex":             hex.EncodeToString([]byte(head)),
		"part of a query": url.QueryEscape(head),
		"part of a path":  url.PathEscape(head),
		"userinfo":        strings.TrimPrefix(url.UserPassword("", head).String(), ":"),
		"HTML":            html.EscapeString(head),
		"a Go string":     strings.Trim(strconv.Quote(head), `"`),
		"bytes":           strings.Trim(fmt.Sprint([]byte(head)), "[]"),
	}
	if text, err := json.Marshal(head); err == nil {
		all["JSON"] = strings.Trim(string(text), `"`)
	}
	// Three bytes become four characters, so a secret behind something else looks
	// different in three ways; at its ends what stands beside it is mixed in.
	for shift := range 3 {
		padded := strings.Repeat("x", shift) + head
		whole := len(padded) / 3 * 4
		from := (shift*8 + 5) / 6
		all[fmt.Sprintf("base64, %d bytes in", shift)] = base64.StdEncoding.EncodeToString([]byte(padded))[from:whole]
		all[fmt.Sprintf("base64 of URLs, %d bytes in", shift)] = base64.URLEncoding.EncodeToString([]byte(padded))[from:whole]
	}
	return all
}
