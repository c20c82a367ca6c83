package solr

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/web"
)

// TestRoleIsInTheDocuments checks that users copy the permissions that TestRealSmallestRole has tried.
func TestRoleIsInTheDocuments(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "docs", "solr.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), SmallestRole().JSON())
	design, err := os.ReadFile("DESIGN.md")
	require.NoError(t, err)
	for _, p := range SmallestRole().Permissions {
		require.Contains(t, string(design), "`"+p.Name+"`")
	}
}

// TestRoleIsJSON checks that it can be put into a security.json as it is.
func TestRoleIsJSON(t *testing.T) {
	var again struct {
		Permissions []struct {
			Name       string   `json:"name"`
			Collection any      `json:"collection"`
			Path       []string `json:"path"`
			Role       []string `json:"role"`
		} `json:"permissions"`
	}
	require.NoError(t, json.Unmarshal([]byte("{"+SmallestRole().JSON()+"}"), &again))
	require.Len(t, again.Permissions, len(SmallestRole().Permissions))
	for i, p := range SmallestRole().Permissions {
		require.Equal(t, p.Name, again.Permissions[i].Name)
		require.Equal(t, p.Paths, again.Permissions[i].Path)
		require.Equal(t, []string{RoleName, "admin"}, again.Permissions[i].Role)
	}
}

func TestPermissionIsNamed(t *testing.T) {
	for _, c := range []struct {
		request web.Request
		want    string
	}{
		{web.Request{Path: pathSystem}, permissionNode},
		{web.Request{Path: pathHealth}, permissionNode},
		{web.Request{Path: pathMetrics}, permissionMetrics},
		{web.Request{Path: pathBalance}, permissionBalance},
		{web.Request{Path: "/solr/books/update"}, permissionUpdate},
		{web.Request{Path: pathCollections, Params: web.Query("action", "CLUSTERSTATUS")}, permissionRead},
		{web.Request{Path: pathCollections, Params: web.Query("action", "REPLACENODE")}, permissionEdit},
	} {
		refused := &web.StatusError{Status: http.StatusForbidden, Likely: "the user in X lacks a permission"}
		require.ErrorContains(t, namePermission(refused, c.request), "the user in X lacks the permission "+c.want)
	}
	require.ErrorContains(t, namePermission(&web.StatusError{Status: http.StatusForbidden}, web.Request{Path: pathSystem}), "the user lacks the permission "+permissionNode)
	other := &web.StatusError{Status: http.StatusUnauthorized}
	require.Empty(t, namePermission(other, web.Request{Path: pathSystem}).(*web.StatusError).Likely) //nolint:errorlint // it is the same
	require.NoError(t, namePermission(nil, web.Request{}))
	none := errors.New("none")
	require.Equal(t, none, namePermission(none, web.Request{Path: pathSystem}))
}
